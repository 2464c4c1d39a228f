import { EntityManager } from 'typeorm';
import { DatabaseUnavailable, IdempotencyKeyReused } from '../../../../application/errors.js';
import { Added, IdempotencyKey, PetQuery, PetRepository } from '../../../../application/pets/pet-repository.port.js';
import { within } from '../../../../application/within.js';
import { INT64_MAX } from '../../../../domain/int64.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Batcher } from '../batcher.js';
import { dialectOf } from '../data-source.js';
import { Database } from '../database.js';
import { AddParameter, insert, prepare, query } from '../dialects/dialect.js';
import { deleteKeys, lockKey, storeKey } from './idempotency-keys.js';
import { PET_COLUMNS, PetRow, toPet, toRow } from './pet.schema.js';

/** How long the database may take to answer a readiness check, in milliseconds. */
const READY_TIMEOUT = 1_500;

/** A pet to add, and the idempotency key to add it with. */
interface Addition {
  readonly pet: NewPet;
  readonly key: IdempotencyKey;
}

/** Pets in the table `pet`, and idempotency keys in `idempotency_key`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly adds: Batcher<NewPet, Added>;
  private readonly addsOnce: Batcher<Addition, Added>;
  private readonly finds: Batcher<bigint, Pet | undefined>;
  private readonly lists: Batcher<PetQuery, readonly Pet[]>;
  private checking: Promise<void> | undefined;

  constructor(private readonly database: Database) {
    super();
    this.adds = new Batcher(database, 'write', 'INSERT pet', (manager, pets) => this.addAll(manager, pets));
    // One in a batch, any number of batches: on a server a transaction with a key may wait for another instance.
    const alone = database.dialect.isServer ? [1, Infinity] : [];
    this.addsOnce = new Batcher(database, 'write', 'INSERT pet', (...all) => this.addAllOnce(...all), ...alone);
    this.finds = new Batcher(database, 'read', 'SELECT pet', findAll);
    this.lists = new Batcher<PetQuery, readonly Pet[]>(database, 'read', 'SELECT pet', listAll);
  }

  add(newPet: NewPet, key?: IdempotencyKey): Promise<Added> {
    // A copy: the batcher would add the same object once, and the caller may change it.
    const pet = { ...newPet };
    return key ? this.addsOnce.add({ pet, key }) : this.adds.add(pet);
  }

  find(id: bigint): Promise<Pet | undefined> {
    return this.finds.add(id);
  }

  list({ status, maxId = INT64_MAX, limit }: PetQuery): Promise<readonly Pet[]> {
    return this.lists.add({ status, maxId, limit }, `${status} ${maxId} ${limit}`);
  }

  version(): number | undefined {
    return this.database.version();
  }

  check(): Promise<void> {
    const read = () => this.database.run('read', 'SELECT pet', ask, performance.now() + READY_TIMEOUT);
    return (this.checking ??= within(READY_TIMEOUT, read())
      .catch((cause: Error) => {
        throw new DatabaseUnavailable('The readiness query failed.', { cause });
      })
      .finally(() => (this.checking = undefined)));
  }

  deleteIdempotencyKeys(before: Date): Promise<number> {
    return this.database.run('write', 'DELETE idempotency_key', (manager) => deleteKeys(manager, before));
  }

  private async addAllOnce(manager: EntityManager, additions: readonly Addition[]): Promise<(Added | Error)[]> {
    const outcomes: (Added | Error)[] = [];
    for (const addition of additions) outcomes.push(await this.addOnce(manager, addition));
    return outcomes;
  }

  /** Adds a pet unless one was added with the key. */
  private async addOnce(manager: EntityManager, { pet: newPet, key }: Addition): Promise<Added | Error> {
    const stored = await lockKey(this.database.dialect, manager, key);
    const [pet] = stored ? await findAll(manager, [stored.petId]) : [];
    if (pet && stored?.fingerprint !== key.fingerprint) return new IdempotencyKeyReused();
    // The payload is that of the first request: the pet as it was added, whatever has changed since.
    if (pet) return { pet: { id: pet.id, ...newPet }, replayed: true };
    const [added] = await this.addAll(manager, [newPet]);
    await storeKey(manager, key, added!.pet.id);
    return added!;
  }

  private async addAll(manager: EntityManager, pets: readonly NewPet[]): Promise<Added[]> {
    const inserted = await insert<{ id: bigint | string }>(manager, 'pet', pets.map(toRow), 'id');
    if (inserted.length !== pets.length)
      throw new Error(`${inserted.length} of ${pets.length} pets were stored: a trigger or a rule discards some.`);
    // The values get ascending ids in their order; RETURNING may list them in any.
    const ids = inserted.map(({ id }) => BigInt(id)).sort((a, b) => Number(a - b));
    return pets.map((pet, i) => ({ pet: { id: ids[i]!, ...pet }, replayed: false }));
  }
}

/** Rejects if the service cannot use the database, or the table `pet` does not exist. */
async function ask(manager: EntityManager): Promise<void> {
  await prepare(dialectOf(manager.dataSource), manager);
  await manager.query('SELECT id FROM pet LIMIT 1');
}

async function listAll(manager: EntityManager, queries: readonly PetQuery[]): Promise<Pet[][]> {
  const dialect = dialectOf(manager.dataSource);
  const lists: Pet[][] = queries.map(() => []);
  if (queries.length === 1 || !dialect.lists) {
    for (const [i, each] of queries.entries())
      lists[i] = (await query<PetRow>(manager, (add) => dialect.list(PET_COLUMNS, each, add))).map(toPet);
    return lists;
  }
  const found = await query<PetRow & { place: unknown }>(manager, (add) => dialect.lists!(PET_COLUMNS, queries, add));
  for (const row of found) lists[Number(row.place)]!.push(toPet(row));
  // A union has no order.
  for (const list of lists) list.sort((a, b) => Number(b.id - a.id));
  return lists;
}

async function findAll(manager: EntityManager, ids: readonly bigint[]): Promise<(Pet | undefined)[]> {
  const list = (add: AddParameter) => ids.map(add).join(', ');
  const found = await query<PetRow>(manager, (add) => `SELECT ${PET_COLUMNS} FROM pet WHERE id IN (${list(add)})`);
  const pets = new Map(found.map(toPet).map((pet) => [pet.id, pet]));
  return ids.map((id) => pets.get(id));
}
