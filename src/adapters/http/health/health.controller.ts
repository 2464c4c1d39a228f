import { All, Controller, Get, OnModuleDestroy, Req, Res } from '@nestjs/common';
import { StoreUnavailable } from '../../../application/errors.js';
import { Readiness } from '../../../application/readiness.port.js';
import { Request, Response } from '../server/exchange.js';
import { answerOtherMethod } from '../unmatched/method-not-allowed.js';

const OK = '{"status":"ok"}';

/** Tells whoever runs the service whether it lives, and whether requests should be sent to it. No key is needed to ask. */
@Controller('health')
export class HealthController implements OnModuleDestroy {
  private stopping = false;

  constructor(private readonly store: Readiness) {}

  @Get('live')
  live(@Res() response: Response): void {
    response.sendJson(200, OK);
  }

  @Get('ready')
  async ready(@Res() response: Response): Promise<void> {
    if (this.stopping) throw new StoreUnavailable('The service is being stopped.');
    await this.store.check();
    response.sendJson(200, OK);
  }

  @All(['live', 'ready'])
  otherMethod(@Req() request: Request, @Res() response: Response): void {
    answerOtherMethod(request, response, 'GET, HEAD, OPTIONS');
  }

  /** A graceful stop begins with this: no new requests should come, and those that are here are still answered. */
  onModuleDestroy(): void {
    this.stopping = true;
  }
}
