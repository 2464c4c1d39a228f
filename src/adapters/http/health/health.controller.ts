import { All, Controller, Get, Req, Res } from '@nestjs/common';
import { HealthService } from '../../../application/health.service.js';
import { Request, Response } from '../server/exchange.js';
import { answerOtherMethod } from '../unmatched/method-not-allowed.js';

const OK = '{"status":"ok"}';

/** Tells whoever runs the service whether it lives, and whether requests should be sent to it. No key is needed to ask. */
@Controller('health')
export class HealthController {
  constructor(private readonly health: HealthService) {}

  @Get('live')
  live(@Res() response: Response): void {
    response.sendJson(200, OK);
  }

  @Get('ready')
  async ready(@Res() response: Response): Promise<void> {
    await this.health.checkReady();
    response.sendJson(200, OK);
  }

  @All(['live', 'ready'])
  otherMethod(@Req() request: Request, @Res() response: Response): void {
    answerOtherMethod(request, response, 'GET, HEAD, OPTIONS');
  }
}
