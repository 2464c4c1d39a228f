import { Controller, Get, OnModuleDestroy } from '@nestjs/common';
import { PetService } from '../../../application/pets/pet.service.js';
import { Public } from '../auth/auth.guard.js';
import { ApiError, RETRY_AFTER } from '../errors/api-error.js';
import type { JsonResponse } from '../json-response.js';

const OK: JsonResponse = { body: '{"status":"ok"}' };

/** Liveness and readiness, without an API key. */
@Public()
@Controller('health')
export class HealthController implements OnModuleDestroy {
  private isStopping = false;

  constructor(private readonly pets: PetService) {}

  /** A graceful shutdown begins: load balancers must stop sending requests. */
  onModuleDestroy(): void {
    this.isStopping = true;
  }

  @Get('live')
  live(): JsonResponse {
    return OK;
  }

  @Get('ready')
  async ready(): Promise<JsonResponse> {
    if (this.isStopping) throw new ApiError('service_unavailable', 'The service is shutting down.', RETRY_AFTER);
    await this.pets.ping();
    return OK;
  }
}
