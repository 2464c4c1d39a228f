import { EntityManager, LessThan, LessThanOrEqual } from 'typeorm';
import { IdempotencyInProgress, IdempotencyKeyReused } from '../../../../application/errors.js';
import {
  Added,
  IDEMPOTENCY_KEY_LIFETIME,
  IdempotencyKey,
  PetQuery,
  PetRepository,
} from '../../../../application/pets/pet-repository.port.js';
import { within } from '../../../../application/within.js';
import { INT64_MIN } from '../../../../domain/int64.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Batcher } from '../batcher.js';
import { Database } from '../database.js';
import { query } from '../dialects/dialect.js';
import { IdempotencyKeySchema } from './idempotency-key.schema.js';
import { PET_COLUMNS, PetRow, toPet } from './pet.schema.js';

/** A pet to add, and the idempotency key to add it with. */
interface Addition {
  readonly pet: NewPet;
  readonly key?: IdempotencyKey | undefined;
}

/** The row of an idempotency key. */
interface KeyRow {
  readonly fingerprint: string;
  /** 0 if no pet was added with it yet. */
  readonly pet_id: bigint | string;
  readonly created_at: string;
}

/** How many batches of one kind are in flight to a server: it runs one while the process reads the rows of another. */
const BATCHES_IN_FLIGHT = 2;

/** How many different lists a server reads in one statement; SQLite would gain nothing. */
const LISTS_AT_ONCE = 32;

/** How long a request waits for another one of this process with the same idempotency key, in milliseconds. */
const IN_FLIGHT_TIMEOUT = 2_000;

/** How many keys are deleted at a time: SQLite, which does nothing else meanwhile, takes some 10 ms for as many. */
const DELETED_AT_A_TIME = 100;

/** Pets in the table `pet`, and idempotency keys in `idempotency_key`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly keysInFlight = new Map<string, Promise<unknown>>();
  private readonly adds: Batcher<Addition, Added>;
  private readonly finds: Batcher<bigint, Pet | undefined>;
  private readonly lists: Batcher<PetQuery, readonly Pet[]>;

  constructor(private readonly database: Database) {
    super();
    const inFlight = database.dialect.isServer ? BATCHES_IN_FLIGHT : 1;
    this.adds = new Batcher((items, deadline) => this.addAll(items, deadline), inFlight);
    this.finds = new Batcher((ids, deadline) => this.findAll(ids, deadline), inFlight);
    this.lists = new Batcher((queries, deadline) => this.listAll(queries, deadline), inFlight);
  }

  add(newPet: NewPet, key?: IdempotencyKey): Promise<Added> {
    const addition = { pet: { ...newPet }, key };
    return this.database.admit(async (deadline) => {
      if (!key) return this.adds.add(addition, deadline);
      return this.afterKeyInFlight(key, async () => {
        // On a server a transaction with a key may have to wait for another instance, so it shares no batch.
        if (!this.database.dialect.isServer) return this.adds.add(addition, deadline);
        const [added] = await this.addAll([addition], deadline);
        if (added instanceof Error) throw added;
        return added!;
      });
    });
  }

  find(id: bigint): Promise<Pet | undefined> {
    return this.database.admit((deadline) => this.finds.add(id, deadline));
  }

  list({ status, before, limit }: PetQuery): Promise<readonly Pet[]> {
    // No id is less, and the `before - 1n` of some dialects would be no int64.
    if (before === INT64_MIN) return Promise.resolve([]);
    return this.database.admit((deadline) => this.lists.add({ status, before, limit }, deadline));
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
    return this.database.write('DELETE idempotency_key', work);
  }

  /**
   * Waits first until a request of this process with the same key that is in flight has settled, without taking a
   * connection. Requests that have waited then run at the same time, and wait for each other in the database.
   */
  private async afterKeyInFlight({ scope, key }: IdempotencyKey, add: () => Promise<Added>): Promise<Added> {
    const name = `${scope} ${key}`;
    const inFlight = this.keysInFlight.get(name);
    if (inFlight) {
      const settled = inFlight.catch(() => undefined);
      await within(IN_FLIGHT_TIMEOUT, settled, () => new IdempotencyInProgress());
      return add();
    }
    const adding = add().finally(() => this.keysInFlight.delete(name));
    this.keysInFlight.set(name, adding);
    return adding;
  }

  private addAll(additions: readonly Addition[], deadline: number): Promise<(Added | Error)[]> {
    const work = (manager: EntityManager) => this.insertAll(manager, additions);
    const options = {
      deadline,
      isRepeatable: additions.every(({ key }) => key),
      isStatement: additions.every(({ key }) => !key),
    };
    const { observer } = this.database;
    return observer.commit(additions.length, () => this.database.write('INSERT pet', work, options));
  }

  private async insertAll(manager: EntityManager, additions: readonly Addition[]): Promise<(Added | Error)[]> {
    const pets = additions.filter(({ key }) => !key).map(({ pet }) => pet);
    const ids = pets.length > 0 ? await this.insert(manager, pets) : [];
    const outcomes: (Added | Error)[] = [];
    for (const { pet, key } of additions) {
      if (key) outcomes.push(await this.insertOnce(manager, pet, key));
      else outcomes.push({ pet: { id: ids.shift()!, ...pet }, replayed: false });
    }
    return outcomes;
  }

  /** Adds a pet unless one was added with the key. */
  private async insertOnce(manager: EntityManager, pet: NewPet, key: IdempotencyKey): Promise<Added | Error> {
    const earlier = await this.lock(manager, key);
    const isFresh = key.at.getTime() - earlier.createdAt < IDEMPOTENCY_KEY_LIFETIME;
    if (isFresh && earlier.petId !== 0n) {
      const [found] = await this.select(manager, [earlier.petId]);
      if (found && earlier.fingerprint !== key.fingerprint) return new IdempotencyKeyReused();
      if (found) return { pet: found, replayed: true };
    }
    const [id] = await this.insert(manager, [pet]);
    const { fingerprint, at } = key;
    const stored = { scope: key.scope, key: key.key };
    await manager.getRepository(IdempotencyKeySchema).update(stored, { fingerprint, petId: id!, at });
    return { pet: { id: id!, ...pet }, replayed: false };
  }

  /** Stores an idempotency key with the pet id 0, or locks the stored one; resolves to its row as it then is. */
  private async lock(manager: EntityManager, { scope, key, fingerprint, at }: IdempotencyKey) {
    try {
      const values = [scope, key, fingerprint, 0, at.toISOString()];
      const [row] = await query<KeyRow>(
        manager,
        (add) => `INSERT INTO idempotency_key (scope, token, fingerprint, pet_id, created_at)
          VALUES (${values.map(add).join(', ')}) ${this.database.dialect.onExistingKey}
          RETURNING fingerprint, pet_id, created_at`,
      );
      return { fingerprint: row!.fingerprint, petId: BigInt(row!.pet_id), createdAt: Date.parse(row!.created_at) };
    } catch (error) {
      throw this.database.failure(error) === 'locked' ? new IdempotencyInProgress() : error;
    }
  }

  private async insert(manager: EntityManager, pets: readonly NewPet[]): Promise<bigint[]> {
    const inserted = await query<{ id: bigint | string }>(manager, (add) => this.database.dialect.insert(pets, add));
    if (inserted.length !== pets.length)
      throw new Error(`${inserted.length} of ${pets.length} pets were stored: a trigger or a rule discards some.`);
    return inserted.map(({ id }) => BigInt(id)).sort((a, b) => Number(a - b));
  }

  private findAll(ids: readonly bigint[], deadline: number): Promise<(Pet | undefined)[]> {
    const work = async (manager: EntityManager) => {
      const pets = new Map((await this.select(manager, ids)).map((pet) => [pet.id, pet]));
      return ids.map((id) => pets.get(id));
    };
    return this.database.read('SELECT pet', work, deadline);
  }

  private async select(manager: EntityManager, ids: readonly bigint[]): Promise<Pet[]> {
    return (await query<PetRow>(manager, (add) => this.database.dialect.find(ids, add))).map(toPet);
  }

  /** Lists that begin at the same pet share the longest of them. */
  private async listAll(queries: readonly PetQuery[], deadline: number): Promise<(readonly Pet[])[]> {
    const start = ({ status, before }: PetQuery) => `${status} ${before}`;
    const longest = new Map<string, PetQuery>();
    for (const query of queries) {
      const known = longest.get(start(query));
      if (!known || query.limit > known.limit) longest.set(start(query), query);
    }
    const different = [...longest.values()];
    const lists = new Map<string, readonly Pet[]>();
    const atOnce = this.database.dialect.isServer ? LISTS_AT_ONCE : 1;
    for (let i = 0; i < different.length; i += atOnce) {
      const some = different.slice(i, i + atOnce);
      const read = await this.database.read('SELECT pet', (manager) => this.selectLists(manager, some), deadline);
      for (const [n, list] of read.entries()) lists.set(start(some[n]!), list);
    }
    return queries.map((query) => lists.get(start(query))!.slice(0, query.limit));
  }

  private async selectLists(manager: EntityManager, queries: readonly PetQuery[]): Promise<Pet[][]> {
    const { dialect } = this.database;
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
