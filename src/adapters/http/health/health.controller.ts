import { IncomingMessage, ServerResponse } from 'node:http';
import { All, Controller, Get, Req, Res } from '@nestjs/common';
import { HealthService } from '../../../application/health.service.js';
import { Public } from '../auth/public.js';
import { answerOtherMethod } from '../errors/unmatched.controller.js';
import { sendJson } from '../send.js';

const OK = '{"status":"ok"}';

/** Liveness and readiness, without an API key. */
@Public()
@Controller('health')
export class HealthController {
  constructor(private readonly health: HealthService) {}

  @Get('live')
  live(@Res() response: ServerResponse): void {
    sendJson(response, 200, OK);
  }

  @Get('ready')
  async ready(@Res() response: ServerResponse): Promise<void> {
    await this.health.checkReady();
    sendJson(response, 200, OK);
  }

  @All(['live', 'ready'])
  otherMethod(@Req() request: IncomingMessage, @Res() response: ServerResponse): void {
    answerOtherMethod(request, response, 'GET, HEAD, OPTIONS');
  }
}
