import { INestApplication, LoggerService, LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApiDocument } from './adapters/http/docs/api-document.js';
import { PetstoreAdapter } from './adapters/http/server/petstore.adapter.js';
import { AppModule } from './app.module.js';
import { Config } from './config.js';

/** The service as the configuration says, ready to listen: what production runs and what every HTTP test runs. */
export async function createApp(
  config: Config,
  logger: LoggerService | LogLevel[] = ['warn', 'error', 'fatal'],
): Promise<INestApplication> {
  const app = await NestFactory.create(AppModule.of(config), new PetstoreAdapter(config.http), {
    bodyParser: false,
    logger,
    abortOnError: false,
  });
  app.get(ApiDocument).describe(app);
  return app.init();
}
