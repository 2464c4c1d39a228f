import type { DatabaseLimits, DatabaseUrl } from './adapters/persistence/database-url.js';
import { makeSqliteFile } from './adapters/persistence/sqlite-file.js';
import type { DatabaseObserver } from './adapters/persistence/typeorm/database-observer.js';
import type { ApiKeyRepository } from './application/keys/api-key-repository.port.js';
import type { Installation } from './application/installation.port.js';
import type { PetRepository } from './application/pets/pet-repository.port.js';
import type { Readiness } from './application/readiness.port.js';
import type { Secrets } from './application/secrets.port.js';

/** A place where things are kept: an adapter for each port, and the way to close them all. */
export abstract class Store {
  abstract readonly pets: PetRepository;
  abstract readonly keys: ApiKeyRepository;
  abstract readonly installation: Installation;
  abstract readonly readiness: Readiness;
  abstract close(): Promise<void>;
}

/**
 * Opens the store that a URL names; the modules of a kind that is not used are not even loaded. `report` is told in a sentence when the
 * database cannot be reached, and when it can again; `observers` see what it is asked to do.
 */
export async function openStore(
  url: DatabaseUrl,
  limits: DatabaseLimits,
  secrets: Secrets,
  report: (message: string) => void,
  observers?: readonly DatabaseObserver[],
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
  if (url.engine === 'sqlite') makeSqliteFile('DATABASE_URL', url.file);
  const { openDatabase } = await import('./adapters/persistence/typeorm/open-database.js');
  const { TypeOrmApiKeyRepository } = await import('./adapters/persistence/typeorm/keys/typeorm-api-key.repository.js');
  const { TypeOrmInstallation } = await import('./adapters/persistence/typeorm/installation/typeorm-installation.js');
  const { TypeOrmPetRepository } = await import('./adapters/persistence/typeorm/pets/typeorm-pet.repository.js');
  const database = await openDatabase(url, limits, report, observers);
  return {
    pets: new TypeOrmPetRepository(database),
    keys: new TypeOrmApiKeyRepository(database),
    installation: new TypeOrmInstallation(database),
    readiness: database,
    close: () => database.close(),
  };
}
