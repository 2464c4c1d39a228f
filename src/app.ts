import { type INestApplication, Logger } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import type { NextFunction } from 'express';
import { openApiDocument } from './adapters/http/docs/document.js';
import { observeRequests } from './adapters/http/finished-requests.js';
import { deprecateGetPet } from './adapters/http/pets/deprecation.js';
import { splitQuery } from './adapters/http/query.js';
import { allowOrigins } from './adapters/http/server/cors.js';
import { PetStoreAdapter } from './adapters/http/server/express.adapter.js';
import type { PetStoreRequest } from './adapters/http/server/request.js';
import { Log } from './adapters/observability/log.js';
import { Observers } from './adapters/observability/observers.js';
import { databaseTimeout } from './adapters/persistence/timeout.js';
import { AppModule } from './app.module.js';
import type { Settings } from './settings/settings.js';

/** Creates the application, for production and for every HTTP test; it does not listen yet. */
export async function createApp(settings: Settings, log: Log): Promise<INestApplication> {
  Logger.overrideLogger(log);
  const options = { bodyParser: false, abortOnError: false };
  // The document is made of the application, which Nest does not inject.
  const module = AppModule.of(settings, log, { document: () => openApiDocument(app, settings) });
  const app: NestExpressApplication = await NestFactory.create(
    module,
    new PetStoreAdapter(settings, databaseTimeout(settings)),
    options,
  );
  app.set('query parser', splitQuery);
  // First, since it sees every response, and what follows belongs to the request's trace.
  app.use(observeRequests(app.get(Observers)));
  // Before all that responds: every response on the path has these headers, to a preflight or a protocol error too.
  app.use(deprecateGetPet(settings));
  // Before the guard, since preflights have no key, and before protocol errors, which pages must be able to read.
  if (settings.CORS_ORIGINS.length > 0) app.use(allowOrigins(settings.CORS_ORIGINS));
  // Before the routes, since a request with a protocol error reaches none.
  app.use((request: PetStoreRequest, _response: unknown, next: NextFunction) => next(request.context.protocolError));
  return app.init();
}
