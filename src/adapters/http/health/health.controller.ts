import { IncomingMessage, ServerResponse } from 'node:http';
import { All, Controller, Get, OnModuleDestroy, Req, Res } from '@nestjs/common';
import { PetService } from '../../../application/pets/pet.service.js';
import { Public } from '../auth/auth.guard.js';
import { ApiError, RETRY_AFTER } from '../errors/api-error.js';
import { answerOtherMethod } from '../errors/unmatched.controller.js';
import { sendJson } from '../json-response.js';

const OK = '{"status":"ok"}';

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
  live(@Res() response: ServerResponse): void {
    sendJson(response, 200, OK);
  }

  @Get('ready')
  async ready(@Res() response: ServerResponse): Promise<void> {
    if (this.isStopping) throw new ApiError('service_unavailable', 'The service is shutting down.', RETRY_AFTER);
    await this.pets.check();
    sendJson(response, 200, OK);
  }

  @All(['live', 'ready'])
  otherMethod(@Req() request: IncomingMessage, @Res() response: ServerResponse): void {
    answerOtherMethod(request, response, 'GET, HEAD, OPTIONS');
  }
}
