import { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApiDocument } from './adapters/http/docs/api-document.js';
import { Exchange } from './adapters/http/server/observe-exchanges.js';
import { PetstoreAdapter } from './adapters/http/server/petstore.adapter.js';
import { Log } from './adapters/log/log.js';
import { AppModule } from './app.module.js';
import { Config } from './config.js';

/** The service as the configuration says, ready to listen: what production runs and what every HTTP test runs. */
export async function createApp(config: Config, log: Log): Promise<INestApplication> {
  const observe = log.tellsRequests ? (exchange: Exchange) => log.request(exchange) : undefined;
  const app = await NestFactory.create(AppModule.of(config), new PetstoreAdapter(config.http, observe), {
    bodyParser: false,
    logger: log,
    abortOnError: false,
  });
  app.get(ApiDocument).describe(app);
  return app.init();
}
