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
import { Addition, addOnce, deleteKeys } from './idempotency-keys.js';
import { findPets, insertPets, PET_COLUMNS, PetRow, toPet } from './pet.schema.js';

/** How long the database may take to answer a readiness check, in milliseconds. */
const READY_TIMEOUT = 1_500;

/** For how long a key that another batch holds is tried again, and the pause before each try, in milliseconds. */
const TWIN_TIMEOUT = 1_500;
const TWIN_PAUSE = 50;

/** Pets in the table `pet`, and idempotency keys in `idempotency_key`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly adds: Batcher<NewPet, Added>;
  private readonly addsOnce: Batcher<Addition, Added>;
  /** For idempotency keys that another batch holds, so that they do not delay others again. */
  private readonly retries: Batcher<Addition, Added>;
  private readonly finds: Batcher<bigint, Pet | undefined>;
  private readonly lists: Batcher<PetQuery, readonly Pet[]>;
  private checking: Promise<void> | undefined;

  constructor(private readonly database: Database) {
    super();
    const { dialect } = database;
    // On a server the statement commits by itself.
    this.adds = new Batcher(database, dialect.isServer ? 'autocommit' : 'transaction', 'INSERT pet', addAll);
    const onceKind = dialect.insertOnce ? 'autocommit' : 'transaction';
    const once = () => new Batcher<Addition, Added>(database, onceKind, 'INSERT pet', addOnce);
    [this.addsOnce, this.retries] = [once(), once()];
    this.finds = new Batcher(database, 'read', 'SELECT pet', findPets);
    this.lists = new Batcher<PetQuery, readonly Pet[]>(database, 'read', 'SELECT pet', listAll);
  }

  add(newPet: NewPet, key?: IdempotencyKey, deadline?: number): Promise<Added> {
    // A copy: the caller may change it.
    const pet = { ...newPet };
    return key ? this.addOnce({ pet, key }, deadline) : this.adds.add(pet, deadline);
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
      this.database.run('read', 'SELECT pet', ask, deadline).catch((cause: Error) => {
        if (cause instanceof DatabaseUnavailable) throw cause;
        throw new DatabaseUnavailable(`The readiness query failed: ${cause.message}.`, { cause });
      });
    const deadline = performance.now() + READY_TIMEOUT;
    return (this.checking ??= this.database.admit(read, deadline, Infinity).finally(() => (this.checking = undefined)));
  }

  deleteIdempotencyKeys(before: Date): Promise<number> {
    return this.database.run('transaction', 'DELETE idempotency_key', (manager) => deleteKeys(manager, before));
  }

  private async addOnce(addition: Addition, deadline?: number): Promise<Added> {
    const end = performance.now() + TWIN_TIMEOUT;
    for (let batcher = this.addsOnce; ; batcher = this.retries) {
      try {
        return await batcher.add(addition, deadline);
      } catch (error) {
        if (!(error instanceof IdempotencyInProgress) || performance.now() > end) throw error;
        await delay(TWIN_PAUSE);
      }
    }
  }
}

/** Rejects if the service cannot use the database, or the table `pet` does not exist. */
async function ask(manager: EntityManager): Promise<void> {
  await prepareConnection(manager);
  await manager.query('SELECT id FROM pet LIMIT 1');
}

async function addAll(manager: EntityManager, pets: readonly NewPet[]): Promise<Added[]> {
  const ids = await insertPets(manager, pets);
  return pets.map((pet, i) => ({ pet: { id: ids[i]!, ...pet }, replayed: false }));
}

async function listAll(manager: EntityManager, queries: readonly PetQuery[]): Promise<Pet[][]> {
  const dialect = dialectOf(manager.dataSource);
  // Those that differ in their limit alone are cut from the longest.
  const nameOf = (query: PetQuery) => JSON.stringify({ ...query, maxId: String(query.maxId), limit: undefined });
  const longest = new Map(queries.toSorted((a, b) => a.limit - b.limit).map((each) => [nameOf(each), each]));
  const walks = [...longest.values()];
  const lists: Pet[][] = walks.map(() => []);
  if (walks.length === 1 || !dialect.lists) {
    for (const [i, each] of walks.entries())
      lists[i] = (await query<PetRow>(manager, (bind) => dialect.list(PET_COLUMNS, each, bind))).map(toPet);
  } else {
    const found = await query<PetRow & { place: unknown }>(manager, (bind) => dialect.lists!(PET_COLUMNS, walks, bind));
    for (const row of found) lists[Number(row.place)]!.push(toPet(row));
    // A union has no order.
    for (const list of lists) list.sort((a, b) => Number(b.id - a.id));
  }
  const names = [...longest.keys()];
  return queries.map((each) => lists[names.indexOf(nameOf(each))]!.slice(0, each.limit));
}
