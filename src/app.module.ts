import { DynamicModule, Global, Module } from '@nestjs/common';
import type { OpenApi } from './adapters/http/docs/document.js';
import { HttpModule } from './adapters/http/http.module.js';
import type { Log } from './adapters/observability/log.js';
import { Observers } from './adapters/observability/observers.js';
import { PersistenceModule } from './adapters/persistence/persistence.module.js';
import { ApiKeyRepository } from './application/keys/api-key-repository.port.js';
import { ApiKeyService } from './application/keys/api-key.service.js';
import { Authenticator } from './application/keys/authenticator.js';
import { PetRepository } from './application/pets/pet-repository.port.js';
import { PetService } from './application/pets/pet.service.js';
import { ScheduledTasks } from './scheduled-tasks.js';
import { readConfiguredKeys, type Settings } from './settings/settings.js';

/** The log, and metrics and traces, which are loaded only if configured: they cost start time and memory. */
@Global()
@Module({})
export class ObserversModule {
  static of({ METRICS_PORT, METRICS_HOST, isTraced, DATABASE_URL }: Settings, log: Log): DynamicModule {
    const metrics = async () => {
      if (METRICS_PORT === undefined) return undefined;
      const { Metrics } = await import('./adapters/observability/metrics.js');
      return new Metrics(METRICS_PORT, METRICS_HOST);
    };
    const tracer = async () => {
      if (!isTraced) return undefined;
      const { Tracer } = await import('./adapters/observability/tracing.js');
      return new Tracer(DATABASE_URL.engine);
    };
    const observers = async () => new Observers(log, await metrics(), await tracer());
    return {
      module: ObserversModule,
      providers: [{ provide: Observers, useFactory: observers }],
      exports: [Observers],
    };
  }
}

/** The application services, which are plain classes, on the database that the settings name. */
@Module({})
export class ApplicationModule {
  static of(settings: Settings): DynamicModule {
    const authenticator = (keys: ApiKeyRepository) => new Authenticator(keys, () => readConfiguredKeys(settings));
    const apiKeyService = (keys: ApiKeyRepository) => new ApiKeyService(keys);
    const services = [
      { provide: PetService, useFactory: (pets: PetRepository) => new PetService(pets), inject: [PetRepository] },
      { provide: ApiKeyService, useFactory: apiKeyService, inject: [ApiKeyRepository] },
      { provide: Authenticator, useFactory: authenticator, inject: [ApiKeyRepository] },
    ];
    return {
      module: ApplicationModule,
      imports: [PersistenceModule.forUrl(settings.DATABASE_URL, settings)],
      providers: [...services, ScheduledTasks],
      exports: services,
    };
  }
}

/**
 * The composition root: the only place where the core meets its adapters. Nest shuts a module down before its imports,
 * so the database closes last.
 */
@Module({})
export class AppModule {
  static of(settings: Settings, log: Log, openApi: OpenApi): DynamicModule {
    const application = ApplicationModule.of(settings);
    const http = HttpModule.of(settings, openApi, application);
    return { module: AppModule, imports: [ObserversModule.of(settings, log), application, http] };
  }
}
