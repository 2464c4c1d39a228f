import { EntityManager } from 'typeorm';
import { DatabaseUnavailable } from '../../../../application/errors.js';
import { Added, IdempotencyKey, PetQuery, PetRepository } from '../../../../application/pets/pet-repository.port.js';
import { INT64_MAX } from '../../../../domain/int64.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Batcher } from '../batcher.js';
import type { Executor } from '../executor.js';
import { driverMessage, prepareConnection } from '../failures.js';
import { KeyExpiry } from './key-expiry.js';
import { type Create, createPets, clearExpiredKeys, findPets, listPets, requestKeyOf } from './pet-table.js';

/** How long the database may take to answer a readiness check, in milliseconds. */
const READY_TIMEOUT = 1_500;

/** Pets in the table `pet`, each with its idempotency key. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly creates: Batcher<Create, Added>;
  private readonly finds: Batcher<bigint, Pet | undefined>;
  private readonly lists: Batcher<PetQuery, readonly Pet[]>;
  private readonly expiry: KeyExpiry;
  private pinging: Promise<void> | undefined;

  /** `report` receives sentences for the log. */
  constructor(
    private readonly executor: Executor,
    report: (message: string) => void,
  ) {
    super();
    // On a server the statement commits by itself. On SQLite a transaction undoes it if a trigger has discarded rows.
    const kind = executor.database.dialect.isServer ? 'autocommit' : 'transaction';
    const creates = { kind, summary: 'INSERT pet', run: createPets } as const;
    this.creates = new Batcher(executor, creates, new Batcher(executor, creates));
    this.finds = new Batcher(executor, { kind: 'read', summary: 'SELECT pet', run: findPets });
    this.lists = new Batcher<PetQuery, readonly Pet[]>(executor, {
      kind: 'read',
      summary: 'SELECT pet',
      run: listPets,
    });
    this.expiry = new KeyExpiry(() => executor.run('autocommit', 'UPDATE pet', clearExpiredKeys), report);
  }

  add(newPet: NewPet, key?: IdempotencyKey, deadline?: number): Promise<Added> {
    if (key) this.expiry.note();
    // A copy: the caller may change it.
    const create = { pet: { ...newPet }, request: key && { key: requestKeyOf(key), fingerprint: key.fingerprint } };
    return this.creates.add(create, deadline);
  }

  find(id: bigint, deadline?: number): Promise<Pet | undefined> {
    return this.finds.add(id, deadline);
  }

  list(query: PetQuery, deadline?: number): Promise<readonly Pet[]> {
    return this.lists.add({ ...query, maxId: query.maxId ?? INT64_MAX }, deadline);
  }

  version(): number | undefined {
    return this.executor.database.version();
  }

  ping(): Promise<void> {
    return (this.pinging ??= this.ask().finally(() => (this.pinging = undefined)));
  }

  /** Ends what it does periodically. */
  close(): void {
    this.expiry.close();
  }

  private async ask(): Promise<void> {
    const { executor } = this;
    try {
      await executor.run('read', 'SELECT pet', readPets, performance.now() + READY_TIMEOUT, Infinity);
    } catch (cause) {
      if (cause instanceof DatabaseUnavailable) throw cause;
      throw new DatabaseUnavailable(`The readiness query failed. ${driverMessage(cause)}`, { cause });
    }
    executor.database.requireFiles();
  }
}

/** Rejects if the service cannot use the database, or the table `pet` does not exist. */
async function readPets(manager: EntityManager): Promise<void> {
  await prepareConnection(manager);
  await manager.query('SELECT id FROM pet LIMIT 1');
}
