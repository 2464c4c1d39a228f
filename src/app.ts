import { parse } from 'node:querystring';
import { INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction } from 'express';
import { RateLimits } from './adapters/http/auth/rate-limits.js';
import { serveDocs } from './adapters/http/docs/docs-page.js';
import { observeRequests } from './adapters/http/finished-requests.js';
import { deprecateGetPet } from './adapters/http/pets/deprecation.js';
import { allowOrigins } from './adapters/http/server/cors.js';
import { PetStoreAdapter } from './adapters/http/server/express.adapter.js';
import type { Request } from './adapters/http/server/request.js';
import { Log } from './adapters/log/log.js';
import { AppModule } from './app.module.js';
import type { Settings } from './settings.js';

/** Creates the application, for production and for every HTTP test; it does not listen yet. */
export async function createApp(settings: Settings, log: Log): Promise<INestApplication> {
  Logger.overrideLogger(log);
  const { METRICS_PORT, METRICS_HOST, CORS_ORIGINS } = settings;
  // Loaded only if configured: they cost start time and memory.
  const metrics =
    METRICS_PORT === undefined
      ? undefined
      : new (await import('./adapters/metrics/metrics.js')).Metrics(METRICS_PORT, METRICS_HOST);
  const tracing = settings.isTraced
    ? new (await import('./adapters/tracing/tracing.js')).Tracing(settings.DATABASE_URL.engine)
    : undefined;
  const observers = [metrics, tracing].filter((each) => each !== undefined);
  const adapter = new PetStoreAdapter(settings);
  const module = AppModule.of(settings, observers);
  const options = { bodyParser: false, abortOnError: false };
  const app = await NestFactory.create<NestExpressApplication>(module, adapter, options);
  // By default parameters behind the thousandth would be ignored.
  app.set('query parser', (query: string) => parse(query, '&', '=', { maxKeys: 0 }));
  app.use(observeRequests([log, ...observers]));
  const { redis } = app.get(RateLimits);
  if (redis) metrics?.observeLimits(() => redis.status === 'ready');
  if (tracing) app.use((request: Request, _response: unknown, next: NextFunction) => tracing.begin(request, next));
  app.use(deprecateGetPet(settings));
  if (CORS_ORIGINS.length > 0) app.use(allowOrigins(CORS_ORIGINS));
  // Behind these, so that a protocol error has the headers for CORS and deprecation, too.
  app.use((request: Request, _response: unknown, next: NextFunction) => next(request.error));
  serveDocs(app);
  return app.init();
}
