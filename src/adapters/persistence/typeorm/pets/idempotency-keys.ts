import { EntityManager, EntitySchema, EntitySchemaColumnOptions, LessThan } from 'typeorm';
import { IdempotencyInProgress, IdempotencyKeyReused } from '../../../../application/errors.js';
import { Added, IDEMPOTENCY_KEY_LIFETIME, IdempotencyKey } from '../../../../application/pets/pet-repository.port.js';
import { NewPet } from '../../../../domain/pets/pet.js';
import { instant, int64 } from '../columns.js';
import { insert } from '../dialects/dialect.js';
import { dialectOf, query, type Write } from '../dialects/dialects.js';
import { failureOf } from '../failures.js';
import { findPets, insertPets, requireStored, toRow, withNextIds } from './pet.schema.js';

/** An idempotency key and the pet that was added with it. */
interface StoredIdempotencyKey extends IdempotencyKey {
  readonly petId: bigint;
}

/** How idempotency keys are stored. */
export const IdempotencyKeySchema = new EntitySchema<StoredIdempotencyKey>({
  name: 'idempotency_key',
  columns: {
    scope: { type: 'varchar', length: 64, primary: true },
    key: { type: 'varchar', length: 255, name: 'token', primary: true },
    fingerprint: { type: 'varchar', length: 64 },
    petId: { ...int64, name: 'pet_id' },
    at: { ...instant, name: 'created_at' },
  } satisfies Record<keyof StoredIdempotencyKey, EntitySchemaColumnOptions>,
  indices: [{ name: 'idempotency_key_created_at', columns: ['at'] }],
});

/** How many keys are deleted at a time: SQLite takes some 10 ms for them, and does nothing else meanwhile. */
const DELETED_AT_A_TIME = 100;

/** A pet to add, and the idempotency key to add it with. */
export interface Addition {
  readonly pet: NewPet;
  readonly key: IdempotencyKey;
}

/** A key as it is stored afterwards. */
interface KeyRow {
  readonly scope: string;
  readonly token: string;
  readonly fingerprint: string;
  readonly pet_id: bigint | string;
  /** Whether it was stored with the pet of this addition. */
  readonly is_new: boolean;
}

/**
 * Adds pets with idempotency keys, in a number of statements that does not depend on theirs. Rejects with
 * `IdempotencyInProgress`, and adds none, if another transaction holds one of the keys; that error in the place of a
 * result asks to try again.
 */
export async function addOnce(manager: EntityManager, additions: readonly Addition[]): Promise<(Added | Error)[]> {
  // Of several additions with one key, the first is added; in a Map the last one wins.
  const firsts = new Map(additions.toReversed().map((each) => [nameOf(each.key), each]));
  const isFirst = (addition: Addition) => firsts.get(nameOf(addition.key)) === addition;
  const add = dialectOf(manager.dataSource).insertOnce ? addInOneStatement : addInTransaction;
  const rows = await add(manager, additions.filter(isFirst));
  const stored = new Map(rows.map((row) => [nameOfRow(row), row]));
  return additions.map((addition) => {
    const { pet, key } = addition;
    const row = stored.get(nameOf(key));
    if (!row) return new IdempotencyInProgress();
    if (row.fingerprint !== key.fingerprint) return new IdempotencyKeyReused();
    // The payload is that of the first request: the pet as it was added, whatever has changed since.
    return { pet: { id: BigInt(row.pet_id), ...pet }, replayed: !row.is_new || !isFirst(addition) };
  });
}

async function addInOneStatement(manager: EntityManager, additions: readonly Addition[]): Promise<KeyRow[]> {
  const rows = additions.map(({ pet, key }) => ({ ...toKeyRow(key, 0n), ...toRow(pet) }));
  const stored = await withNextIds(manager, () =>
    claim<KeyRow & { readonly is_visible: boolean }>(manager, (bind, dialect) => dialect.insertOnce!(rows, bind)),
  );
  // The statement itself fails if some keys are discarded, but selects nothing if all are.
  requireStored(stored, rows.length);
  const unseen = stored.filter(({ is_new, is_visible }) => !is_new && !is_visible);
  if (unseen.length === 0) return stored;
  // Committed after the statement had begun or, if it does not exist, removed by hand: its key is free in the next try.
  const pets = await findPets(manager, unseen.map(petIdOf));
  const removed = unseen.filter((_row, i) => !pets[i]);
  if (removed.length === 0) return stored;
  // If that fails, they are found again: the additions are committed, and must not be run again.
  const keys = removed.map((row) => ({ scope: row.scope, key: row.token, petId: petIdOf(row) }));
  await manager.delete(IdempotencyKeySchema, keys).catch(() => undefined);
  return stored.filter((row) => !removed.includes(row));
}

/** The same in the statements of a transaction. */
async function addInTransaction(manager: EntityManager, additions: readonly Addition[]): Promise<KeyRow[]> {
  // In one order everywhere, so that batches do not deadlock.
  const keys = additions.map(({ key }) => key).sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));
  const keyRows = keys.map((key) => toKeyRow(key, 0n));
  const claimed = await claim<Omit<KeyRow, 'is_new'> & { readonly created_at: string }>(manager, (bind, dialect) =>
    dialect.claimKeys!(keyRows, bind),
  );
  const rows = new Map(claimed.map((row) => [nameOfRow(row), row]));
  // 0 for a new key: MariaDB's claim stores it with that.
  const petIds = additions.map(({ key }) => BigInt(rows.get(nameOf(key))?.pet_id ?? 0));
  const pets = petIds.some((id) => id > 0n) ? await findPets(manager, petIds) : [];
  const isStored = ({ key }: Addition, i: number) =>
    pets[i] && key.at.getTime() - Date.parse(rows.get(nameOf(key))!.created_at) < IDEMPOTENCY_KEY_LIFETIME;
  const stored = additions.filter(isStored).map(({ key }) => ({ ...rows.get(nameOf(key))!, is_new: false }));
  const missing = additions.filter((each, i) => !isStored(each, i));
  if (missing.length === 0) {
    const { rewriteKey } = dialectOf(manager.dataSource);
    // InnoDB shows a commit before it is on disk. If this transaction writes, its own commit flushes that one, too.
    if (rewriteKey)
      await query(manager, (bind) => `${insert('idempotency_key', [keyRows[0]!, keyRows[0]!], bind)} ${rewriteKey}`);
    return stored;
  }
  const newPets = missing.map(({ pet }) => pet);
  const ids = await insertPets(manager, newPets);
  const added = missing.map(({ key }, i) => toKeyRow(key, ids[i]!));
  const write: Write = (bind, { replaceKeys }) =>
    `${insert('idempotency_key', added, bind)} ${replaceKeys} RETURNING scope`;
  requireStored(await query(manager, write), added.length);
  return [...stored, ...added.map((row) => ({ ...row, is_new: true }))];
}

/** Runs the statement that locks keys. */
async function claim<Row>(manager: EntityManager, write: Write) {
  const begun = performance.now();
  try {
    return await query<Row>(manager, write);
  } catch (error) {
    // MariaDB reports the lock of a table so, too, but only after two seconds.
    const isKeyLocked =
      failureOf(dialectOf(manager.dataSource), error) === 'rowLocked' && performance.now() < begun + 1_000;
    throw isKeyLocked ? new IdempotencyInProgress() : error;
  }
}

const nameOf = ({ scope, key }: Pick<IdempotencyKey, 'scope' | 'key'>): string => `${scope} ${key}`;

const nameOfRow = ({ scope, token }: Pick<KeyRow, 'scope' | 'token'>): string => nameOf({ scope, key: token });

const petIdOf = (row: KeyRow): bigint => BigInt(row.pet_id);

function toKeyRow({ scope, key, fingerprint, at }: IdempotencyKey, petId: bigint) {
  return { scope, token: key, fingerprint, pet_id: petId, created_at: at.toISOString() };
}

/** See `PetRepository.deleteIdempotencyKeys`. */
export async function deleteKeys(manager: EntityManager, before: Date): Promise<number> {
  const keys = manager.getRepository(IdempotencyKeySchema);
  const oldest = await keys.find({ where: { at: LessThan(before) }, order: { at: 'ASC' }, take: DELETED_AT_A_TIME });
  const last = oldest.at(-1)?.at.toISOString();
  // By its time: a key that is renewed meanwhile has a later one, and stays.
  const write: Write = (bind, { withoutWait = '' }) =>
    `${withoutWait}DELETE FROM idempotency_key WHERE created_at <= ${bind(last)}`;
  if (last !== undefined) await query(manager, write);
  return oldest.length;
}
