import { DynamicModule, Logger, Module, OnApplicationShutdown } from '@nestjs/common';
import { ApiKeyRepository } from '../../application/keys/api-key-repository.port.js';
import { PetRepository } from '../../application/pets/pet-repository.port.js';
import { PAUSE, Progress } from '../../messages/progress.js';
import { Observers } from '../observability/observers.js';
import { DatabaseUrl } from '../../settings/database-url.js';
import { MemoryApiKeyRepository } from './memory/memory-api-key.repository.js';
import { MemoryPetRepository } from './memory/memory-pet.repository.js';
import type { DatabaseSettings } from './typeorm/database.js';

const logger = new Logger('petstore');

/** An open database: an adapter for each port, and the way to close them all. */
export abstract class Repositories {
  abstract readonly pets: PetRepository;
  abstract readonly keys: ApiKeyRepository;
  abstract close(): Promise<void>;
}

/** Provides the ports of persistence, and closes their database once everything that uses them has been shut down. */
@Module({})
export class PersistenceModule implements OnApplicationShutdown {
  constructor(private readonly database: Repositories) {}

  static forUrl(url: DatabaseUrl, limits: DatabaseSettings): DynamicModule {
    const open = (observers: Observers) => {
      const progress = new Progress();
      // In the log, a migration at the start has a line as often as one of `petstore migrate` without a terminal.
      const timer = setInterval(() => progress.name && logger.warn(progress.toString()), PAUSE);
      const opening = openRepositories(url, { ...limits, progress }, (message) => logger.warn(message), observers);
      return opening.finally(() => clearInterval(timer));
    };
    const providers = [
      { provide: Repositories, useFactory: open, inject: [Observers] },
      { provide: PetRepository, useFactory: ({ pets }: Repositories) => pets, inject: [Repositories] },
      { provide: ApiKeyRepository, useFactory: ({ keys }: Repositories) => keys, inject: [Repositories] },
    ];
    return { module: PersistenceModule, providers, exports: providers };
  }

  onApplicationShutdown(): Promise<void> {
    return this.database.close();
  }
}

/** Opens the database of a URL; TypeORM is loaded only if it is used. `report` receives sentences for the log. */
export async function openRepositories(
  url: DatabaseUrl,
  limits: DatabaseSettings,
  report: (message: string) => void,
  observers?: Observers,
): Promise<Repositories> {
  if (url.engine === 'memory')
    return { pets: new MemoryPetRepository(), keys: new MemoryApiKeyRepository(), close: () => Promise.resolve() };
  const { Database } = await import('./typeorm/database.js');
  const { Executor } = await import('./typeorm/executor.js');
  const { TypeOrmApiKeyRepository } = await import('./typeorm/keys/typeorm-api-key.repository.js');
  const { TypeOrmPetRepository } = await import('./typeorm/pets/typeorm-pet.repository.js');
  const database = new Database(url, limits, report);
  await database.open();
  const executor = new Executor(database, limits, observers);
  const pets = new TypeOrmPetRepository(executor, report);
  const close = async () => {
    pets.close();
    await database.close();
  };
  return { pets, keys: new TypeOrmApiKeyRepository(executor), close };
}
