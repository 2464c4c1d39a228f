import { DynamicModule, Module } from '@nestjs/common';
import { HttpModule } from './adapters/http/http.module.js';
import type { Metrics } from './adapters/metrics/metrics.js';
import type { DatabaseObserver } from './adapters/persistence/database-observer.js';
import { PersistenceModule } from './adapters/persistence/persistence.module.js';
import { ScheduledTasks } from './adapters/schedule/scheduled-tasks.js';
import type { Tracing } from './adapters/tracing/tracing.js';
import { ApiKeyRepository } from './application/keys/api-key-repository.port.js';
import { ApiKeyService } from './application/keys/api-key.service.js';
import { PetRepository } from './application/pets/pet-repository.port.js';
import { PetService } from './application/pets/pet.service.js';
import { databaseLimits, type Settings } from './settings.js';

/** The application services, which are plain classes, on the database that the settings name. */
@Module({})
export class ApplicationModule {
  static of(settings: Settings, observer?: DatabaseObserver): DynamicModule {
    const { DATABASE_URL, API_KEYS, API_KEYS_FILE } = settings;
    return {
      module: ApplicationModule,
      imports: [PersistenceModule.forUrl(DATABASE_URL, databaseLimits(settings), observer)],
      providers: [
        {
          provide: PetService,
          useFactory: (pets: PetRepository) => new PetService(pets),
          inject: [PetRepository],
        },
        {
          provide: ApiKeyService,
          useFactory: (keys: ApiKeyRepository) => new ApiKeyService(keys, [...API_KEYS, ...API_KEYS_FILE]),
          inject: [ApiKeyRepository],
        },
        ScheduledTasks,
      ],
      exports: [PetService, ApiKeyService],
    };
  }
}

/**
 * The composition root: the only place where the core meets its adapters. Nest shuts a module down before its imports,
 * so the database closes last.
 */
@Module({})
export class AppModule {
  static of(settings: Settings, metrics?: Metrics, tracing?: Tracing): DynamicModule {
    const application = ApplicationModule.of(settings, databaseObserver(tracing, metrics));
    return {
      module: AppModule,
      imports: [application, HttpModule.of(settings, application, (areShared) => metrics?.limits(areShared))],
      providers: [
        // For their lifecycle hooks.
        { provide: 'Metrics', useValue: metrics },
        { provide: 'Tracing', useValue: tracing },
      ],
    };
  }
}

/** Measures each query and commit inside its span. */
function databaseObserver(tracing?: Tracing, metrics?: Metrics): DatabaseObserver | undefined {
  if (!tracing || !metrics) return tracing ?? metrics;
  return {
    query: (summary, run) => tracing.query(summary, () => metrics.query(summary, run)),
    commit: (pets, run) => tracing.commit(pets, () => metrics.commit(pets, run)),
  };
}
