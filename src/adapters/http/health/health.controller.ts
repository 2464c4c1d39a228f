import { ServerResponse } from 'node:http';
import { All, Controller, Get, Req, Res } from '@nestjs/common';
import { HealthService } from '../../../application/health.service.js';
import { endOfTurn } from '../end-of-turn.js';
import { sendJson } from '../send.js';
import { answerOtherMethod, type RoutedRequest } from '../unmatched/method-not-allowed.js';

const OK = '{"status":"ok"}';

/** Tells whoever runs the service whether it lives, and whether requests should be sent to it. No key is needed to ask. */
@Controller('health')
export class HealthController {
  constructor(private readonly health: HealthService) {}

  @Get('live')
  async live(@Res() response: ServerResponse): Promise<void> {
    await endOfTurn();
    sendJson(response, 200, OK);
  }

  @Get('ready')
  async ready(@Res() response: ServerResponse): Promise<void> {
    await this.health.checkReady();
    sendJson(response, 200, OK);
  }

  @All(['live', 'ready'])
  otherMethod(@Req() request: RoutedRequest, @Res() response: ServerResponse): void {
    answerOtherMethod(request, response);
  }
}
