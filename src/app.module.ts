import { DynamicModule, Logger, Module, OnApplicationShutdown, OnModuleDestroy } from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
import { Counts } from './adapters/counting/counts.js';
import { openCounts } from './adapters/counting/open-counts.js';
import { NodeSecrets } from './adapters/crypto/node-secrets.js';
import { ApiDocument } from './adapters/http/docs/api-document.js';
import { DocsController } from './adapters/http/docs/docs.controller.js';
import { ApiErrorFilter } from './adapters/http/errors/api-error.filter.js';
import { HealthController } from './adapters/http/health/health.controller.js';
import { HttpSettings } from './adapters/http/http-settings.js';
import { RequestLimits } from './adapters/http/limits/request-limits.js';
import { GetPetController } from './adapters/http/pets/get-pet.controller.js';
import { PetsController } from './adapters/http/pets/pets.controller.js';
import { UnmatchedController } from './adapters/http/unmatched/unmatched.controller.js';
import { StorePatience } from './adapters/http/store-patience.js';
import type { Metrics } from './adapters/metrics/metrics.js';
import type { Tracing } from './adapters/tracing/tracing.js';
import { Chores } from './adapters/timer/chores.js';
import { ApiKeyRepository } from './application/keys/api-key-repository.port.js';
import { ApiKeyService } from './application/keys/api-key.service.js';
import { Cursors } from './application/pets/cursors.js';
import { HealthService } from './application/health.service.js';
import { Installation } from './application/installation.port.js';
import { PetRepository } from './application/pets/pet-repository.port.js';
import { PetService } from './application/pets/pet.service.js';
import { Secrets } from './application/secrets.port.js';
import { Config } from './config.js';
import { openStore, Store } from './open-store.js';

const logger = new Logger('petstore');

/** The composition root: the only place where the core meets its adapters. */
@Module({})
export class AppModule implements OnModuleDestroy, OnApplicationShutdown {
  constructor(
    private readonly health: HealthService,
    private readonly store: Store,
    private readonly counts: Counts,
  ) {}

  /** The service as the configuration says, measured by `metrics` and traced by `tracing`. */
  static of(
    { database, databaseLimits, apiKeys, http, counting }: Config,
    metrics?: Metrics,
    tracing?: Tracing,
  ): DynamicModule {
    const observers = [tracing, metrics].filter((each) => each !== undefined);
    return {
      module: AppModule,
      // The order of the controllers is the order of the routes: what is left over comes last.
      controllers: [PetsController, GetPetController, HealthController, DocsController, UnmatchedController],
      providers: [
        { provide: HttpSettings, useValue: http },
        {
          provide: Counts,
          useFactory: () =>
            openCounts(
              counting,
              (message) => logger.warn(message),
              (areShared) => metrics?.limits(areShared),
            ),
        },
        { provide: Secrets, useClass: NodeSecrets },
        {
          provide: Store,
          useFactory: (secrets: Secrets) =>
            openStore(database, databaseLimits, secrets, (message) => logger.warn(message), observers),
          inject: [Secrets],
        },
        // Here for the hooks by which it starts and ends with the service.
        { provide: 'Metrics', useValue: metrics },
        { provide: 'Tracing', useValue: tracing },
        { provide: PetRepository, useFactory: ({ pets }: Store) => pets, inject: [Store] },
        { provide: ApiKeyRepository, useFactory: ({ keys }: Store) => keys, inject: [Store] },
        { provide: Installation, useFactory: ({ installation }: Store) => installation, inject: [Store] },
        { provide: HealthService, useFactory: ({ readiness }: Store) => new HealthService(readiness), inject: [Store] },
        {
          provide: Cursors,
          useFactory: (installation: Installation, secrets: Secrets) => new Cursors(installation, secrets),
          inject: [Installation, Secrets],
        },
        {
          provide: PetService,
          useFactory: (pets: PetRepository, cursors: Cursors, secrets: Secrets) =>
            new PetService(pets, cursors, secrets),
          inject: [PetRepository, Cursors, Secrets],
        },
        {
          provide: ApiKeyService,
          useFactory: (keys: ApiKeyRepository, secrets: Secrets) => new ApiKeyService(keys, secrets, apiKeys),
          inject: [ApiKeyRepository, Secrets],
        },
        RequestLimits,
        StorePatience,
        Chores,
        ApiDocument,
        { provide: APP_FILTER, useClass: ApiErrorFilter },
      ],
    };
  }

  onModuleDestroy(): void {
    this.health.beginStop();
  }

  /** Nest calls it after those of the providers, which may still need the store. */
  onApplicationShutdown(): Promise<void> {
    this.counts.close();
    return this.store.close();
  }
}
