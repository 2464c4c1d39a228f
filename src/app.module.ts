import {
  DynamicModule,
  Inject,
  Logger,
  Module,
  OnApplicationShutdown,
  OnModuleDestroy,
  OnModuleInit,
} from '@nestjs/common';
import { APP_FILTER } from '@nestjs/core';
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
import type { Metrics } from './adapters/metrics/metrics.js';
import { DatabaseLimits, DatabaseUrl } from './adapters/persistence/database-url.js';
import { ApiKeyRepository } from './application/keys/api-key-repository.port.js';
import { ApiKeyService } from './application/keys/api-key.service.js';
import { Cursors } from './application/pets/cursors.js';
import { HealthService } from './application/health.service.js';
import { Installation } from './application/installation.port.js';
import { PetRepository } from './application/pets/pet-repository.port.js';
import { PetService } from './application/pets/pet.service.js';
import { Readiness } from './application/readiness.port.js';
import { Secrets } from './application/secrets.port.js';
import { Config } from './config.js';

/** A place where things are kept: an adapter for each port, and the way to close them all. */
export interface Store {
  readonly pets: PetRepository;
  readonly keys: ApiKeyRepository;
  readonly installation: Installation;
  readonly readiness: Readiness;
  close(): Promise<void>;
}

const STORE = 'Store';

/** How often the use of the API keys is written down, in milliseconds. */
const RECORD_INTERVAL = 5_000;

/** How often idempotency keys that have had their time are forgotten, in milliseconds. */
const FORGET_INTERVAL = 600_000;

const logger = new Logger('petstore');

/** The composition root: the only place where the core meets its adapters. */
@Module({})
export class AppModule implements OnModuleInit, OnModuleDestroy, OnApplicationShutdown {
  private readonly chores: NodeJS.Timeout[] = [];

  constructor(
    private readonly pets: PetService,
    private readonly keys: ApiKeyService,
    private readonly health: HealthService,
    @Inject(STORE) private readonly store: Store,
  ) {}

  /** The service as the configuration says, measured by `metrics`. */
  static of({ database, databaseLimits, apiKeys, http }: Config, metrics?: Metrics): DynamicModule {
    return {
      module: AppModule,
      // The order of the controllers is the order of the routes: what is left over comes last.
      controllers: [PetsController, GetPetController, HealthController, DocsController, UnmatchedController],
      providers: [
        { provide: HttpSettings, useValue: http },
        { provide: Secrets, useClass: NodeSecrets },
        {
          provide: STORE,
          useFactory: (secrets: Secrets) => openStore(database, databaseLimits, secrets, metrics),
          inject: [Secrets],
        },
        // Here for the hooks by which it starts and ends with the service.
        { provide: 'Metrics', useValue: metrics },
        { provide: PetRepository, useFactory: ({ pets }: Store) => pets, inject: [STORE] },
        { provide: ApiKeyRepository, useFactory: ({ keys }: Store) => keys, inject: [STORE] },
        { provide: Installation, useFactory: ({ installation }: Store) => installation, inject: [STORE] },
        { provide: HealthService, useFactory: ({ readiness }: Store) => new HealthService(readiness), inject: [STORE] },
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
        ApiDocument,
        { provide: APP_FILTER, useClass: ApiErrorFilter },
      ],
    };
  }

  onModuleInit(): void {
    const record = () => attempt('Writing down the use of the API keys', () => this.keys.recordUses());
    const forget = () => attempt('Forgetting old idempotency keys', () => this.pets.forgetIdempotencyKeys());
    this.chores.push(setInterval(() => void record(), RECORD_INTERVAL).unref());
    this.chores.push(setInterval(() => void forget(), FORGET_INTERVAL).unref());
  }

  onModuleDestroy(): void {
    this.health.beginStop();
  }

  async onApplicationShutdown(): Promise<void> {
    for (const chore of this.chores) clearInterval(chore);
    await attempt('Writing down the use of the API keys', () => this.keys.recordUses());
    await this.store.close();
  }
}

/** Does what can wait for another time if it must. */
async function attempt(what: string, chore: () => Promise<void>): Promise<void> {
  try {
    await chore();
  } catch (error) {
    logger.warn(`${what} did not work out and is tried again later: ${(error as Error).message}`);
  }
}

/** Opens the store; the modules of a kind that is not used are not even loaded. */
export async function openStore(
  url: DatabaseUrl,
  limits: DatabaseLimits,
  secrets: Secrets,
  metrics?: Metrics,
): Promise<Store> {
  if (url.engine === 'memory') {
    const { MemoryApiKeyRepository } = await import('./adapters/persistence/memory/memory-api-key.repository.js');
    const { MemoryInstallation } = await import('./adapters/persistence/memory/memory-installation.js');
    const { MemoryPetRepository } = await import('./adapters/persistence/memory/memory-pet.repository.js');
    return {
      pets: new MemoryPetRepository(),
      keys: new MemoryApiKeyRepository(),
      installation: new MemoryInstallation(secrets),
      readiness: { check: () => Promise.resolve() },
      close: () => Promise.resolve(),
    };
  }
  const { openDatabase } = await import('./adapters/persistence/typeorm/open-database.js');
  const { TypeOrmApiKeyRepository } = await import('./adapters/persistence/typeorm/keys/typeorm-api-key.repository.js');
  const { TypeOrmInstallation } = await import('./adapters/persistence/typeorm/installation/typeorm-installation.js');
  const { TypeOrmPetRepository } = await import('./adapters/persistence/typeorm/pets/typeorm-pet.repository.js');
  const database = await openDatabase(url, limits, (message) => logger.warn(message), metrics);
  return {
    pets: new TypeOrmPetRepository(database),
    keys: new TypeOrmApiKeyRepository(database),
    installation: new TypeOrmInstallation(database),
    readiness: database,
    close: () => database.close(),
  };
}
