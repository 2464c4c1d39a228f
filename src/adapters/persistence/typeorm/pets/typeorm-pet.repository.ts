import { setTimeout as delay } from 'node:timers/promises';
import { EntityManager } from 'typeorm';
import { DatabaseUnavailable, IdempotencyInProgress } from '../../../../application/errors.js';
import { Added, IdempotencyKey, PetQuery, PetRepository } from '../../../../application/pets/pet-repository.port.js';
import { INT64_MAX } from '../../../../domain/int64.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Batcher } from '../batcher.js';
import { Database } from '../database.js';
import { dialectOf, query } from '../dialects/dialects.js';
import { prepareConnection } from '../failures.js';
import {
  Create,
  createPets,
  clearExpiredKeys,
  findPets,
  PET_COLUMNS,
  PetRow,
  requestKeyOf,
  toPet,
} from './pet-table.js';

/** How long the database may take to answer a readiness check, in milliseconds. */
const READY_TIMEOUT = 1_500;

/** For how long a key that another transaction holds is tried again, and the pause before each try, in milliseconds. */
const TWIN_TIMEOUT = 1_500;
const TWIN_PAUSE = 50;

/** Pets in the table `pet`, each with its idempotency key. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly creates: Batcher<Create, Added>;
  /** For keys that another transaction holds, so that they do not delay others again. */
  private readonly retries: Batcher<Create, Added>;
  private readonly finds: Batcher<bigint, Pet | undefined>;
  private readonly lists: Batcher<PetQuery, readonly Pet[]>;
  private checking: Promise<void> | undefined;

  constructor(private readonly database: Database) {
    super();
    // On a server the statement commits by itself. On SQLite a transaction undoes it if a trigger has discarded rows.
    const kind = database.dialect.isServer ? 'autocommit' : 'transaction';
    const creates = () => new Batcher<Create, Added>(database, kind, 'INSERT pet', createPets);
    [this.creates, this.retries] = [creates(), creates()];
    this.finds = new Batcher(database, 'read', 'SELECT pet', findPets);
    this.lists = new Batcher<PetQuery, readonly Pet[]>(database, 'read', 'SELECT pet', listAll);
  }

  async add(newPet: NewPet, key?: IdempotencyKey, deadline?: number): Promise<Added> {
    // A copy: the caller may change it.
    const create = { pet: { ...newPet }, request: key && { key: requestKeyOf(key), fingerprint: key.fingerprint } };
    let end: number | undefined;
    for (let batcher = this.creates; ; batcher = this.retries) {
      try {
        return await batcher.add(create, deadline);
      } catch (error) {
        if (!(error instanceof IdempotencyInProgress)) throw error;
        end ??= performance.now() + TWIN_TIMEOUT;
        if (performance.now() > end) throw error;
        await delay(TWIN_PAUSE);
      }
    }
  }

  find(id: bigint, deadline?: number): Promise<Pet | undefined> {
    return this.finds.add(id, deadline);
  }

  list(query: PetQuery, deadline?: number): Promise<readonly Pet[]> {
    return this.lists.add({ ...query, maxId: query.maxId ?? INT64_MAX }, deadline);
  }

  version(): number | undefined {
    return this.database.version();
  }

  check(): Promise<void> {
    const read = (deadline: number) =>
      this.database.run('read', 'SELECT pet', ask, deadline).then(
        () => this.database.requireFiles(),
        (cause: Error) => {
          if (cause instanceof DatabaseUnavailable) throw cause;
          throw new DatabaseUnavailable(`The readiness query failed: ${cause.message}.`, { cause });
        },
      );
    const deadline = performance.now() + READY_TIMEOUT;
    return (this.checking ??= this.database.admit(read, deadline, Infinity).finally(() => (this.checking = undefined)));
  }

  deleteIdempotencyKeys(): Promise<number> {
    return this.database.run('autocommit', 'UPDATE pet', clearExpiredKeys);
  }
}

/** Rejects if the service cannot use the database, or the table `pet` does not exist. */
async function ask(manager: EntityManager): Promise<void> {
  await prepareConnection(manager);
  await manager.query('SELECT id FROM pet LIMIT 1');
}

/**
 * The lists of these queries, in their order. Those that differ in their limit alone are cut from the longest: clients
 * that ask for 80 different lists get a fifth more responses per second.
 */
async function listAll(manager: EntityManager, queries: readonly PetQuery[]): Promise<Pet[][]> {
  const dialect = dialectOf(manager.dataSource);
  const nameOf = (query: PetQuery) => JSON.stringify(Object.entries({ ...query, limit: 0 }).map(String));
  // In a Map the last one wins.
  const longest = new Map(queries.toSorted((a, b) => a.limit - b.limit).map((each) => [nameOf(each), each]));
  const lists = new Map<string, Pet[]>([...longest.keys()].map((name) => [name, []]));
  if (longest.size === 1 || !dialect.lists) {
    for (const [name, each] of longest)
      lists.set(name, (await query<PetRow>(manager, (bind) => dialect.list(PET_COLUMNS, each, bind))).map(toPet));
  } else {
    const all = [...longest.values()];
    const rows = await query<PetRow & { place: unknown }>(manager, (bind) => dialect.lists!(PET_COLUMNS, all, bind));
    const places = [...lists.values()];
    for (const row of rows) places[Number(row.place)]!.push(toPet(row));
    // A union has no order.
    for (const list of places) list.sort((a, b) => Number(b.id - a.id));
  }
  return queries.map((each) => lists.get(nameOf(each))!.slice(0, each.limit));
}
