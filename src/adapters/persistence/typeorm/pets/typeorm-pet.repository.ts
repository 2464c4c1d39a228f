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
import { INT64_MAX, INT64_MIN } from '../../../../domain/int64.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Batcher } from '../batcher.js';
import { Database } from '../database.js';
import { failureOf, ListQuery, query } from '../dialects/dialect.js';
import { IdempotencyKeySchema } from './idempotency-key.schema.js';
import { PET_COLUMNS, PetRow, toPet } from './pet.schema.js';

/** A pet to add, and the idempotency key to add it with. */
interface Addition {
  readonly pet: NewPet;
  readonly key?: IdempotencyKey | undefined;
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
  private readonly adds: Batcher<Addition, Added>;
  private readonly finds: Batcher<bigint, Pet | undefined>;
  private readonly lists: Batcher<ListQuery, readonly Pet[]>;

  constructor(private readonly database: Database) {
    super();
    const inFlight = database.dialect.isServer ? BATCHES_IN_FLIGHT : 1;
    this.adds = new Batcher((items, deadline) => this.addAll(items, deadline), inFlight);
    this.finds = new Batcher((ids, deadline) => this.findAll(ids, deadline), inFlight);
    this.lists = new Batcher((queries, deadline) => this.listAll(queries, deadline), inFlight, LISTS_AT_ONCE);
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
    // No id is less, and the last one would be no int64.
    if (before === INT64_MIN) return Promise.resolve([]);
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

  private addAll(additions: readonly Addition[], deadline: number): Promise<(Added | Error)[]> {
    const work = (manager: EntityManager) => this.insertAll(manager, additions);
    const kind = additions.every(({ key }) => key) ? 'transaction' : 'statement';
    const { observer } = this.database;
    return observer.commit(additions.length, () => this.database.run(kind, 'INSERT pet', work, deadline));
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
      const [row] = await query<Record<'fingerprint' | 'pet_id' | 'created_at', string>>(
        manager,
        (add) => `INSERT INTO idempotency_key (scope, token, fingerprint, pet_id, created_at)
          VALUES (${values.map(add).join(', ')}) ${this.database.dialect.onExistingKey}
          RETURNING fingerprint, pet_id, created_at`,
      );
      return { fingerprint: row!.fingerprint, petId: BigInt(row!.pet_id), createdAt: Date.parse(row!.created_at) };
    } catch (error) {
      throw failureOf(this.database.dialect, error) === 'locked' ? new IdempotencyInProgress() : error;
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
    return this.database.run('read', 'SELECT pet', work, deadline);
  }

  private async select(manager: EntityManager, ids: readonly bigint[]): Promise<Pet[]> {
    return (await query<PetRow>(manager, (add) => this.database.dialect.find(ids, add))).map(toPet);
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
