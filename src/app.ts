import { INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApiDocument } from './adapters/http/docs/api-document.js';
import type { Exchange } from './adapters/http/server/exchange.js';
import { PetstoreAdapter } from './adapters/http/server/petstore.adapter.js';
import { Log } from './adapters/log/log.js';
import { AppModule } from './app.module.js';
import { Config } from './config.js';

/** The service as the configuration says, ready to listen: what production runs and what every HTTP test runs. */
export async function createApp(config: Config, log: Log): Promise<INestApplication> {
  const metrics = config.metrics && new (await import('./adapters/metrics/metrics.js')).Metrics(config.metrics);
  const observers = [log.tellsRequests ? log : undefined, metrics].filter((each) => each !== undefined);
  const observe = (exchange: Exchange) => observers.forEach((each) => each.request(exchange));
  const app = await NestFactory.create(AppModule.of(config, metrics), new PetstoreAdapter(config.http, observe), {
    bodyParser: false,
    logger: log,
    abortOnError: false,
  });
  app.get(ApiDocument).describe(app);
  try {
    return await app.init();
  } catch (error) {
    // The store is open by now, and would keep the process.
    await app.close();
    throw error;
  }
}
