import { createHash } from 'node:crypto';
import { EntityManager, EntitySchema, EntitySchemaColumnOptions } from 'typeorm';
import { IdempotencyInProgress, IdempotencyKeyReused } from '../../../../application/errors.js';
import {
  Added,
  IDEMPOTENCY_KEY_LIFETIME,
  IdempotencyKey,
  type PetQuery,
} from '../../../../application/pets/pet-repository.port.js';
import { NewPet, Pet, PetStatus } from '../../../../domain/pets/pet.js';
import type { PersistentUrl } from '../../../../settings/database-url.js';
import { int64 } from '../columns.js';
import { CREATED, NEW_PET, type NewPetRow } from '../dialects/dialect.js';
import { dialectOf, query, type WriteSql } from '../dialects/dialects.js';
import { failureOf, IdsSkipped, RowsDiscarded } from '../failures.js';

/** A pet and, if it was created with an Idempotency-Key less than 24 hours ago, the request that created it. */
interface StoredPet extends Pet {
  /** See `requestKeyOf`. Null without a key, and once it has expired. */
  readonly requestKey: string | null;
  /** That of the payload. */
  readonly fingerprint: string | null;
  /** When the request arrived, in milliseconds since 1970 on the clock of the database. */
  readonly requestedAt: bigint | null;
  /** How many statements have replayed it: each changes the row, so that its commit, too, waits for the disk. */
  readonly replays: number;
}

/** The table `pet`, for checks of the schema and for copies, not for inserts: TypeORM's own rounds ids on SQLite. */
export function petSchema(engine: PersistentUrl['engine']): EntitySchema<StoredPet> {
  // Creates without a key do not pay for an index that leaves them out. MariaDB has none of that kind.
  const indexOf = (column: string) => (engine === 'mariadb' ? {} : { where: `${column} IS NOT NULL` });
  return new EntitySchema<StoredPet>({
    name: 'pet',
    columns: {
      // Only an `integer` can be SQLite's AUTOINCREMENT.
      id: { ...int64, type: engine === 'sqlite' ? 'integer' : 'bigint', primary: true, generated: 'increment' },
      name: { type: 'varchar', length: 255 },
      categoryId: { ...int64, name: 'category_id' },
      status: { type: 'varchar', length: 9 },
      requestKey: { type: 'varchar', length: 43, name: 'request_key', nullable: true },
      fingerprint: { type: 'varchar', length: 43, nullable: true },
      requestedAt: { ...int64, name: 'requested_at', nullable: true },
      replays: { type: 'integer', default: 0 },
    } satisfies Record<keyof StoredPet, EntitySchemaColumnOptions>,
    indices: [
      { name: 'pet_status_id', columns: ['status', 'id'] },
      { name: 'pet_request_key', columns: ['requestKey'], unique: true, ...indexOf('request_key') },
      { name: 'pet_requested_at', columns: ['requestedAt'], ...indexOf('requested_at') },
    ],
  });
}

/** The columns that `toPet` reads. */
const PET_COLUMNS = ['id', ...Object.keys(NEW_PET)].join(', ');

/** A row of `PET_COLUMNS`, as the driver reads it: an int64 is a bigint or a string. */
interface PetRow {
  readonly id: bigint | string;
  readonly name: string;
  readonly category_id: bigint | string;
  readonly status: PetStatus;
}

/** The pet in a row. */
function toPet({ id, name, category_id, status }: PetRow): Pet {
  return { id: BigInt(id), name, categoryId: BigInt(category_id), status };
}

/** The pets with these ids; undefined in the place of each that does not exist. */
export async function findPets(manager: EntityManager, ids: readonly bigint[]): Promise<(Pet | undefined)[]> {
  const distinct = [...new Set(ids)];
  const select: WriteSql = (bind, dialect) => `SELECT ${PET_COLUMNS} FROM pet WHERE ${dialect.hasId(distinct, bind)}`;
  const pets = new Map((await query<PetRow>(manager, select)).map(toPet).map((pet) => [pet.id, pet]));
  return ids.map((id) => pets.get(id));
}

/**
 * The lists of these queries, in their order. Those that differ in their limit alone are cut from the longest: clients
 * that ask for 80 different lists get a fifth more responses per second.
 */
export async function listPets(manager: EntityManager, queries: readonly PetQuery[]): Promise<Pet[][]> {
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

/** A pet to create and, if it is sent with an Idempotency-Key, the request. */
export interface Create {
  readonly pet: NewPet;
  readonly request?: { readonly key: string; readonly fingerprint: string } | undefined;
}

/** How an idempotency key is stored: the SHA-256 of scope and key, in base64url. */
export function requestKeyOf({ scope, key }: Pick<IdempotencyKey, 'scope' | 'key'>): string {
  return createHash('sha256').update(`${scope} ${key}`).digest('base64url');
}

/** The row of a pet to create. */
function toRow({ pet: { name, categoryId, status }, request }: Create): NewPetRow {
  const { key = null, fingerprint = null } = request ?? {};
  return { name, category_id: categoryId, status, request_key: key, fingerprint };
}

/** What an INSERT returns of a row: of the new one, or of the one that has its key already. */
type CreatedRow = Record<(typeof CREATED)[number], unknown> & { readonly request_key: string | null };

/**
 * Creates pets in one statement, those of keys that are stored already excepted. `IdempotencyInProgress` asks to try
 * again: in the place of a result, because the key has just expired; thrown, without having created any, because
 * another transaction holds one of the keys. `IdsSkipped` asks the same, since rows that were inserted with their ids
 * had the next ids.
 */
export async function createPets(manager: EntityManager, creates: readonly Create[]): Promise<(Added | Error)[]> {
  const withoutKey = creates.filter(({ request }) => !request);
  // Of several with one key the first is sent; in a Map the last one wins.
  const byKey = new Map(creates.toReversed().flatMap((each) => (each.request ? [[each.request.key, each]] : [])));
  // In one order everywhere, so that batches do not wait for each other.
  const withKey = [...byKey].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, create]) => create);
  const sent = [...withoutKey, ...withKey];
  const dialect = dialectOf(manager.dataSource);
  const begun = performance.now();
  const rows = await query<CreatedRow>(manager, (bind) => dialect.insertPets(sent.map(toRow), bind)).catch(
    async (error: unknown) => {
      const failure = failureOf(dialect, error);
      if (failure === 'rowLocked' && (await isKeyHeld(manager, sent, performance.now() - begun)))
        throw new IdempotencyInProgress();
      if (failure !== 'duplicate' || !dialect.skipIds) throw error;
      await manager.query(dialect.skipIds);
      throw new IdsSkipped('The next id is that of another pet.', { cause: error });
    },
  );
  if (rows.length < sent.length)
    throw new RowsDiscarded(`${rows.length} of ${sent.length} rows were stored: a trigger or a rule discards some.`);
  const stored = new Map(rows.map((row) => [row.request_key, row]));
  // RETURNING may list them in any order, as `test/stores/simulation.spec.ts` does; ids ascend in that of the INSERT. A
  // row whose key had expired returns without it, too, but with `replays` above 0.
  const isNewWithoutKey = (row: CreatedRow) => row.request_key === null && Number(row.replays) === 0;
  const ids = rows
    .filter(isNewWithoutKey)
    .map(idOf)
    .sort((a, b) => Number(a - b))
    .values();
  return creates.map((create) => {
    const { pet, request } = create;
    if (!request) {
      const { value: id } = ids.next();
      if (id === undefined) throw new Error('An id that was to be new is that of another pet.');
      return { pet: { id, ...pet }, replayed: false };
    }
    const row = stored.get(request.key);
    if (!row) return new IdempotencyInProgress();
    if (row.fingerprint !== request.fingerprint) return new IdempotencyKeyReused();
    // The payload is that of the first request: the pet as it was added, whatever has changed since.
    const isFirst = byKey.get(request.key) === create;
    return { pet: { id: idOf(row), ...pet }, replayed: Number(row.replays) > 0 || !isFirst };
  });
}

const idOf = ({ id }: Pick<CreatedRow, 'id'>): bigint => BigInt(id as bigint | string);

/** Whether another transaction holds the key of a create, or may hold one of several: the executor halves those. */
async function isKeyHeld(manager: EntityManager, creates: readonly Create[], waited: number): Promise<boolean> {
  const dialect = dialectOf(manager.dataSource);
  const [key] = creates.flatMap(({ request }) => request?.key ?? []);
  // MariaDB reports the lock of a table so, too, but only after two seconds.
  if (key === undefined || (dialect.lockKey && waited > 1_000)) return false;
  if (!dialect.lockKey || creates.length > 1) return true;
  try {
    await query(manager, (bind) => dialect.lockKey!(key, bind));
    return false;
  } catch (error) {
    return failureOf(dialect, error) === 'rowLocked';
  }
}

/** How many keys are cleared at a time: SQLite takes some 10 ms for them, and does nothing else meanwhile. */
const CLEARED_AT_A_TIME = 100;

/** Clears some of the idempotency keys whose lifetime is over, and resolves to their number: 0 if none was left. */
export async function clearExpiredKeys(manager: EntityManager): Promise<number> {
  const expired = await query<Pick<CreatedRow, 'id'>>(
    manager,
    (_bind, { now }) => `SELECT id FROM pet WHERE requested_at <= ${now} - ${IDEMPOTENCY_KEY_LIFETIME}
      ORDER BY requested_at LIMIT ${CLEARED_AT_A_TIME}`,
  );
  const clear: WriteSql = (bind, dialect) =>
    `UPDATE pet SET request_key = NULL, fingerprint = NULL, requested_at = NULL
      WHERE ${dialect.hasId(expired.map(idOf), bind)}`;
  if (expired.length > 0) await query(manager, clear);
  return expired.length;
}
