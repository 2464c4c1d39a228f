import { INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { ApiDocument } from './adapters/http/docs/api-document.js';
import type { ExchangeObserver } from './adapters/http/server/exchange.js';
import { PetstoreAdapter } from './adapters/http/server/petstore.adapter.js';
import { Log } from './adapters/log/log.js';
import { AppModule } from './app.module.js';
import { Config } from './config.js';
import packageJson from '../package.json' with { type: 'json' };

/** The service as the configuration says, ready to be handed connections: what production runs and what every HTTP test runs. */
export async function createApp(config: Config, log: Log): Promise<INestApplication> {
  // What is put together before Nest is told of it has things to say too.
  Logger.overrideLogger(log);
  const metrics = config.metrics && new (await import('./adapters/metrics/metrics.js')).Metrics(config.metrics);
  const tracing =
    config.tracing &&
    new (await import('./adapters/tracing/tracing.js')).Tracing(
      config.tracing,
      packageJson.version,
      config.database.engine,
    );
  const observers = [log.tellsRequests ? log : undefined, metrics, tracing].filter((each) => each !== undefined);
  const observer: ExchangeObserver = {
    begin: tracing && ((request, look) => tracing.begin(request, look)),
    request: (exchange) => observers.forEach((each) => each.request(exchange)),
  };
  const app = await NestFactory.create(
    AppModule.of(config, metrics, tracing),
    new PetstoreAdapter(config.http, observer),
    {
      bodyParser: false,
      logger: log,
      abortOnError: false,
    },
  );
  app.get(ApiDocument).describe(app);
  try {
    return await app.init();
  } catch (error) {
    // The store is open by now, and would keep the process.
    await app.close();
    throw error;
  }
}
