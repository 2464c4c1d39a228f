import { EntityManager, LessThan, LessThanOrEqual, Repository } from 'typeorm';
import { IdempotencyInProgress, IdempotencyKeyReused } from '../../../../application/errors.js';
import {
  Added,
  IDEMPOTENCY_KEY_LIFETIME,
  IdempotencyKey,
  PetQuery,
  PetRepository,
} from '../../../../application/pets/pet-repository.port.js';
import { within } from '../../../../application/within.js';
import { INT64_MAX } from '../../../../domain/int64.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Batcher } from '../batcher.js';
import { Database } from '../database.js';
import { failureOf, ListQuery, query } from '../dialects/dialect.js';
import { IdempotencyKeySchema, StoredIdempotencyKey } from './idempotency-key.schema.js';
import { PET_COLUMNS, PetRow, toPet } from './pet.schema.js';

/** A pet to add, and the idempotency key to add it with. */
interface Addition {
  readonly pet: NewPet;
  readonly key: IdempotencyKey;
}

/** How many batches of one kind are in flight to a server: it runs one while the process reads the rows of another. */
const BATCHES_IN_FLIGHT = 2;

/** The most lists that a server reads in one statement. */
const LISTS_AT_ONCE = 32;

/** How long a request waits for another one of this process with the same idempotency key, in milliseconds. */
const IN_FLIGHT_TIMEOUT = 2_000;

/** How many keys are deleted at a time: SQLite, which does nothing else meanwhile, takes some 10 ms for as many. */
const DELETED_AT_A_TIME = 100;

/** Pets in the table `pet`, and idempotency keys in `idempotency_key`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly keysInFlight = new Map<string, Promise<unknown>>();
  private readonly adds: Batcher<NewPet, Added>;
  private readonly addsOnce: Batcher<Addition, Added>;
  private readonly finds: Batcher<bigint, Pet | undefined>;
  private readonly lists: Batcher<ListQuery, readonly Pet[]>;

  constructor(private readonly database: Database) {
    super();
    const { isServer } = database.dialect;
    const inFlight = isServer ? BATCHES_IN_FLIGHT : 1;
    this.adds = new Batcher((pets, deadline) => this.addAll(pets, deadline), inFlight);
    // On a server a transaction with a key may have to wait for another instance, so it shares no batch.
    const [onceInFlight, atOnce] = isServer ? [Infinity, 1] : [1];
    this.addsOnce = new Batcher((items, deadline) => this.addAllOnce(items, deadline), onceInFlight, atOnce);
    this.finds = new Batcher((ids, deadline) => this.findAll(ids, deadline), inFlight);
    this.lists = new Batcher((queries, deadline) => this.listAll(queries, deadline), inFlight, LISTS_AT_ONCE);
  }

  add(newPet: NewPet, key?: IdempotencyKey): Promise<Added> {
    const pet = { ...newPet };
    return this.database.admit((deadline) =>
      key ? this.afterKeyInFlight(key, () => this.addsOnce.add({ pet, key }, deadline)) : this.adds.add(pet, deadline),
    );
  }

  find(id: bigint): Promise<Pet | undefined> {
    return this.database.admit((deadline) => this.finds.add(id, deadline));
  }

  list({ status, before, limit }: PetQuery): Promise<readonly Pet[]> {
    const last = before === undefined ? INT64_MAX : before - 1n;
    return this.database.admit((deadline) => this.lists.add({ status, last, limit }, deadline));
  }

  version(): number | undefined {
    return this.database.version();
  }

  check(): Promise<void> {
    return this.database.check();
  }

  async deleteIdempotencyKeys(before: Date): Promise<number> {
    const work = async (manager: EntityManager) => {
      const keys = manager.getRepository(IdempotencyKeySchema);
      const oldest = await keys.find({
        select: { at: true },
        where: { at: LessThan(before) },
        order: { at: 'ASC' },
        take: DELETED_AT_A_TIME,
      });
      const last = oldest.at(-1);
      // By its time: a key that is renewed meanwhile has a later one, and stays.
      if (last) await keys.delete({ at: LessThanOrEqual(last.at) });
      return oldest.length;
    };
    return this.database.run('transaction', 'DELETE idempotency_key', work);
  }

  /** Waits first until requests of this process with the same key have settled, without taking a connection. */
  private async afterKeyInFlight({ scope, key }: IdempotencyKey, add: () => Promise<Added>): Promise<Added> {
    const name = `${scope} ${key}`;
    while (this.keysInFlight.has(name))
      await within(IN_FLIGHT_TIMEOUT, this.keysInFlight.get(name)!, () => new IdempotencyInProgress());
    const adding = add();
    const settled = () => void this.keysInFlight.delete(name);
    this.keysInFlight.set(name, adding.then(settled, settled));
    return adding;
  }

  private addAll(pets: readonly NewPet[], deadline: number): Promise<Added[]> {
    const work = async (manager: EntityManager) =>
      (await this.insert(manager, pets)).map((pet) => ({ pet, replayed: false }));
    const { database } = this;
    return database.observer.commit(pets.length, () => database.run('statement', 'INSERT pet', work, deadline));
  }

  private addAllOnce(additions: readonly Addition[], deadline: number): Promise<(Added | Error)[]> {
    const work = async (manager: EntityManager) => {
      const outcomes: (Added | Error)[] = [];
      for (const { pet, key } of additions) outcomes.push(await this.insertOnce(manager, pet, key));
      return outcomes;
    };
    const { database } = this;
    return database.observer.commit(additions.length, () => database.run('transaction', 'INSERT pet', work, deadline));
  }

  /** Adds a pet unless one was added with the key. */
  private async insertOnce(manager: EntityManager, newPet: NewPet, sent: IdempotencyKey): Promise<Added | Error> {
    const keys = manager.getRepository(IdempotencyKeySchema);
    const stored = await this.lock(keys, sent);
    const isFresh = sent.at.getTime() - stored.at.getTime() < IDEMPOTENCY_KEY_LIFETIME;
    if (isFresh && stored.petId !== 0n) {
      const [pet] = await select(manager, [stored.petId]);
      if (pet && stored.fingerprint !== sent.fingerprint) return new IdempotencyKeyReused();
      if (pet) return { pet, replayed: true };
    }
    const [pet] = await this.insert(manager, [newPet]);
    await keys.update({ scope: sent.scope, key: sent.key }, { ...sent, petId: pet!.id });
    return { pet: pet!, replayed: false };
  }

  /** Stores an idempotency key with the pet id 0, or locks the stored one; resolves to it as it then is. */
  private async lock(keys: Repository<StoredIdempotencyKey>, sent: IdempotencyKey): Promise<StoredIdempotencyKey> {
    try {
      // The update of a stored key changes nothing, but is a write: on PostgreSQL a replay waits for a synchronous
      // standby too, as the first commit may not have.
      const insert = keys
        .createQueryBuilder()
        .insert()
        .values({ ...sent, petId: 0n });
      await insert.orUpdate(['scope'], ['scope', 'token']).execute();
    } catch (error) {
      throw failureOf(this.database.dialect, error) === 'rowLocked' ? new IdempotencyInProgress() : error;
    }
    return keys.findOneByOrFail({ scope: sent.scope, key: sent.key });
  }

  private async insert(manager: EntityManager, pets: readonly NewPet[]): Promise<Pet[]> {
    const inserted = await query<{ id: bigint | string }>(manager, (add) => this.database.dialect.insert(pets, add));
    if (inserted.length !== pets.length)
      throw new Error(`${inserted.length} of ${pets.length} pets were stored: a trigger or a rule discards some.`);
    const ids = inserted.map(({ id }) => BigInt(id)).sort((a, b) => Number(a - b));
    return pets.map((pet, i) => ({ id: ids[i]!, ...pet }));
  }

  private findAll(ids: readonly bigint[], deadline: number): Promise<(Pet | undefined)[]> {
    const work = async (manager: EntityManager) => {
      const pets = new Map((await select(manager, ids)).map((pet) => [pet.id, pet]));
      return ids.map((id) => pets.get(id));
    };
    return this.database.run('read', 'SELECT pet', work, deadline);
  }

  /** Equal queries share a list. */
  private async listAll(queries: readonly ListQuery[], deadline: number): Promise<(readonly Pet[])[]> {
    const nameOf = ({ status, last, limit }: ListQuery) => `${status} ${last} ${limit}`;
    const different = [...new Map(queries.map((query) => [nameOf(query), query])).values()];
    const lists = await this.database.run(
      'read',
      'SELECT pet',
      (manager) => this.selectLists(manager, different),
      deadline,
    );
    const places = new Map(different.map((query, place) => [nameOf(query), place]));
    return queries.map((query) => lists[places.get(nameOf(query))!]!);
  }

  private async selectLists(manager: EntityManager, queries: readonly ListQuery[]): Promise<Pet[][]> {
    const { dialect } = this.database;
    if (!dialect.isServer && queries.length > 1) {
      const lists: Pet[][] = [];
      // One statement for all would be slower: SQLite would have to compile it.
      for (const query of queries) lists.push(...(await this.selectLists(manager, [query])));
      return lists;
    }
    const found = await query<PetRow>(manager, (add) => {
      const selects = queries.map(
        (each, place) => `SELECT ${PET_COLUMNS}, ${place} AS place ${dialect.list(each, add)}`,
      );
      return selects.length === 1 ? selects[0]! : selects.map((select) => `(${select})`).join(' UNION ALL ');
    });
    const lists: Pet[][] = queries.map(() => []);
    for (const row of found) lists[Number(row.place)]!.push(toPet(row));
    // A union has no order.
    if (lists.length > 1) for (const list of lists) list.sort((a, b) => Number(b.id - a.id));
    return lists;
  }
}

async function select(manager: EntityManager, ids: readonly bigint[]): Promise<Pet[]> {
  const found = await query<PetRow>(
    manager,
    (add) => `SELECT ${PET_COLUMNS} FROM pet WHERE id IN (${ids.map(add).join(', ')})`,
  );
  return found.map(toPet);
}
