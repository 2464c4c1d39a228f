import { EntityManager, LessThan, LessThanOrEqual, Repository } from 'typeorm';
import { IdempotencyInProgress, IdempotencyKeyReused } from '../../../../application/errors.js';
import {
  Added,
  IDEMPOTENCY_KEY_LIFETIME,
  IdempotencyKey,
  PetQuery,
  PetRepository,
} from '../../../../application/pets/pet-repository.port.js';
import { INT64_MAX } from '../../../../domain/int64.js';
import { NewPet, Pet } from '../../../../domain/pets/pet.js';
import { Batcher } from '../batcher.js';
import { dialectOf } from '../data-source.js';
import { Database } from '../database.js';
import { AddParameter, failureOf, insert, query } from '../dialects/dialect.js';
import { IdempotencyKeySchema, StoredIdempotencyKey } from './idempotency-key.schema.js';
import { PET_COLUMNS, PetRow, toPet, toRow } from './pet.schema.js';

/** A pet to add, and the idempotency key to add it with. */
interface Addition {
  readonly pet: NewPet;
  readonly key: IdempotencyKey;
}

/** How many keys are deleted at a time: SQLite takes some 10 ms for them, and does nothing else meanwhile. */
const DELETED_AT_A_TIME = 100;

/** Pets in the table `pet`, and idempotency keys in `idempotency_key`. */
export class TypeOrmPetRepository extends PetRepository {
  private readonly adds: Batcher<NewPet, Added>;
  private readonly addsOnce: Batcher<Addition, Added>;
  private readonly finds: Batcher<bigint, Pet | undefined>;
  private readonly lists: Batcher<PetQuery, readonly Pet[]>;

  constructor(private readonly database: Database) {
    super();
    this.adds = new Batcher(database, 'statement', 'INSERT pet', (manager, pets) => this.insert(manager, pets));
    const addAllOnce = (manager: EntityManager, items: readonly Addition[]) => this.addAllOnce(manager, items);
    // On a server a transaction with a key may have to wait for another instance, so it shares no batch.
    const alone = database.dialect.isServer ? [1, Infinity] : [];
    this.addsOnce = new Batcher(database, 'write', 'INSERT pet', addAllOnce, ...alone);
    this.finds = new Batcher(database, 'read', 'SELECT pet', findAll);
    this.lists = new Batcher<PetQuery, readonly Pet[]>(database, 'read', 'SELECT pet', listAll);
  }

  add(newPet: NewPet, key?: IdempotencyKey): Promise<Added> {
    // A copy: the batcher would add the same object once.
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
    return this.database.check();
  }

  deleteIdempotencyKeys(before: Date): Promise<number> {
    return this.database.run('write', 'DELETE idempotency_key', async (manager) => {
      const keys = manager.getRepository(IdempotencyKeySchema);
      const oldest = await keys.find({
        where: { at: LessThan(before) },
        order: { at: 'ASC' },
        take: DELETED_AT_A_TIME,
      });
      const last = oldest.at(-1);
      // By its time: a key that is renewed meanwhile has a later one, and stays.
      if (last) await keys.delete({ at: LessThanOrEqual(last.at) });
      return oldest.length;
    });
  }

  private async addAllOnce(manager: EntityManager, additions: readonly Addition[]): Promise<(Added | Error)[]> {
    const outcomes: (Added | Error)[] = [];
    for (const { pet, key } of additions) outcomes.push(await this.addOnce(manager, pet, key));
    return outcomes;
  }

  /** Adds a pet unless one was added with the key. */
  private async addOnce(manager: EntityManager, newPet: NewPet, sent: IdempotencyKey): Promise<Added | Error> {
    const keys = manager.getRepository(IdempotencyKeySchema);
    const stored = await this.lock(keys, sent);
    const isFresh = sent.at.getTime() - stored.at.getTime() < IDEMPOTENCY_KEY_LIFETIME;
    // 0: `lock` has just stored it.
    if (isFresh && stored.petId !== 0n) {
      const [pet] = await findAll(manager, [stored.petId]);
      if (pet && stored.fingerprint !== sent.fingerprint) return new IdempotencyKeyReused();
      // The payload is that of the first request: the pet as it was added, whatever has changed since.
      if (pet) return { pet: { id: pet.id, ...newPet }, replayed: true };
    }
    const [added] = await this.insert(manager, [newPet]);
    await keys.update({ scope: sent.scope, key: sent.key }, { ...sent, petId: added!.pet.id });
    return added!;
  }

  /** Stores an idempotency key with the pet id 0, or locks the stored one; resolves to the stored key. */
  private async lock(keys: Repository<StoredIdempotencyKey>, sent: IdempotencyKey): Promise<StoredIdempotencyKey> {
    try {
      // The update changes nothing, but is a write: so a replay, too, waits for PostgreSQL's synchronous standby, for
      // which the first request may not have waited.
      const row = { ...sent, petId: 0n };
      // `orUpdate` takes names of columns.
      await keys.createQueryBuilder().insert().values(row).orUpdate(['scope'], ['scope', 'token']).execute();
    } catch (error) {
      throw failureOf(this.database.dialect, error) === 'rowLocked' ? new IdempotencyInProgress() : error;
    }
    return keys.findOneByOrFail({ scope: sent.scope, key: sent.key });
  }

  private async insert(manager: EntityManager, pets: readonly NewPet[]): Promise<Added[]> {
    const { returning } = this.database.dialect;
    const inserted = await insert<{ id: bigint | string }>(manager, 'pet', pets.map(toRow), returning);
    if (inserted.length !== pets.length)
      throw new Error(`${inserted.length} of ${pets.length} pets were stored: a trigger or a rule discards some.`);
    // The values get ascending ids in their order; RETURNING may list them in any.
    const ids = inserted.map(({ id }) => BigInt(id)).sort((a, b) => Number(a - b));
    return pets.map((pet, i) => ({ pet: { id: ids[i]!, ...pet }, replayed: false }));
  }
}

async function listAll(manager: EntityManager, queries: readonly PetQuery[]): Promise<Pet[][]> {
  // One statement for all would be slower on SQLite, which would have to compile it.
  const groups = dialectOf(manager.dataSource).isServer ? [queries] : queries.map((each) => [each]);
  const lists: Pet[][] = [];
  for (const each of groups) lists.push(...(await selectLists(manager, each)));
  return lists;
}

async function selectLists(manager: EntityManager, queries: readonly PetQuery[]): Promise<Pet[][]> {
  const dialect = dialectOf(manager.dataSource);
  const found = await query<PetRow & { readonly place: unknown }>(manager, (add) => {
    const selects = queries.map((each, place) => `SELECT ${PET_COLUMNS}, ${place} AS place ${dialect.list(each, add)}`);
    return selects.length === 1 ? selects[0]! : selects.map((select) => `(${select})`).join(' UNION ALL ');
  });
  const lists: Pet[][] = queries.map(() => []);
  for (const row of found) lists[Number(row.place)]!.push(toPet(row));
  // A union has no order.
  if (lists.length > 1) for (const list of lists) list.sort((a, b) => Number(b.id - a.id));
  return lists;
}

async function findAll(manager: EntityManager, ids: readonly bigint[]): Promise<(Pet | undefined)[]> {
  const list = (add: AddParameter) => ids.map(add).join(', ');
  const found = await query<PetRow>(manager, (add) => `SELECT ${PET_COLUMNS} FROM pet WHERE id IN (${list(add)})`);
  const pets = new Map(found.map(toPet).map((pet) => [pet.id, pet]));
  return ids.map((id) => pets.get(id));
}
