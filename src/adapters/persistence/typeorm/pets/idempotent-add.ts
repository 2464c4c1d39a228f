import { IdempotencyInProgress, IdempotencyKeyReused } from '../../../../application/errors.js';
import { Added, IDEMPOTENCY_KEY_LIFETIME, IdempotencyKey } from '../../../../application/pets/pet-repository.port.js';
import { NewPet } from '../../../../domain/pets/pet.js';
import { Engine, Script } from '../engines/engine.js';
import { Column, names, Row, Statement } from '../table.js';
import { idempotencyKeyTable as keyTable } from './idempotency-key.schema.js';
import { petTable } from './pet.schema.js';

/** A pet to add, and the idempotency key to add it with. */
export interface Addition {
  readonly pet: NewPet;
  readonly key?: IdempotencyKey;
}

/** How often to try to add a pet if its key, which was not there, is there when it is inserted. */
const ATTEMPTS = 5;

/** The most keys forgotten at a time: SQLite, which does nothing else meanwhile, takes some 10 ms for as many. */
const MAX_FORGOTTEN = 100;

/** A key and the pet that was added with it, whose columns are NULL if it was removed by hand. */
const FIND_KEY = `SELECT ${keyTable.select}, ${petTable.select}
  FROM idempotency_key LEFT JOIN pet ON pet.id = idempotency_key.pet_id
  WHERE idempotency_key.scope = ? AND idempotency_key.token = ?`;

/** Changes nothing, and is a write all the same: the commit waits for a standby, as far as commits do. */
const CONFIRM_KEY = 'UPDATE idempotency_key SET pet_id = pet_id WHERE scope = ? AND token = ?';

const FORGET_KEY = 'DELETE FROM idempotency_key WHERE scope = ? AND token = ? AND pet_id = ?';

/** What has a database store less than it was told to. */
const ALTERED = 'the table has a trigger or a rule that drops some. Nothing but the service may decide what is stored.';

/** What a key consists of before its pet is stored. */
const KEY_COLUMNS = keyTable.columns.filter(({ property }) => property !== 'petId');

/** Stores key and pet in one round trip; neither, and returns no row, if the key is there. Then no id is used up either. */
const ADD_WITH_KEY = `WITH new_key AS (
    INSERT INTO idempotency_key (pet_id, ${names(KEY_COLUMNS)})
    SELECT nextval(pg_get_serial_sequence('pet', 'id')), ${typed(KEY_COLUMNS)}
    WHERE NOT EXISTS (SELECT FROM idempotency_key WHERE scope = ? AND token = ?)
    ON CONFLICT DO NOTHING
    RETURNING pet_id)
  INSERT INTO pet (id, ${names(petTable.given)})
  SELECT pet_id, ${typed(petTable.given)} FROM new_key RETURNING id`;

/** Adds pets in one commit, and resolves to what became of each: an error for one that is refused, while the others are stored. */
export async function addTogether(engine: Engine, additions: readonly Addition[]): Promise<(Added | Error)[]> {
  if (additions.some(({ key }) => key)) {
    return engine.transaction(function* () {
      const outcomes: (Added | Error)[] = [];
      for (const addition of additions) outcomes.push(yield* addOne(engine, addition));
      return outcomes;
    });
  }
  const pets = additions.map(({ pet }) => pet);
  const rows = await engine.write(engine.insertion(petTable, pets));
  // They are stored, those that are: an error for all of them together would have them be added again.
  if (rows.length !== pets.length)
    return pets.map(() => new Error(`${rows.length} of ${pets.length} pets were stored: ${ALTERED}`));
  const ids = rows.map(([id]) => BigInt(id as string | bigint)).sort((a, b) => (a < b ? -1 : 1));
  return pets.map((pet, i) => added(pet, ids[i]));
}

/**
 * Adds a pet with a key in a commit of its own, because it may have to wait for another instance that has the same key under way; rejects
 * with the error if it is refused.
 */
export async function addAlone(engine: Engine, addition: Required<Addition>): Promise<Added> {
  // PostgreSQL waits for no row but that of a key.
  let atKey = engine.writesInWith;
  try {
    const [inserted] = engine.writesInWith ? await engine.write(withKey(addition)) : [];
    if (inserted) return added(addition.pet, inserted[0]);
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        const outcome = await engine.transaction(() => addOne(engine, addition, (yes) => (atKey = yes)));
        if (outcome instanceof Error) throw outcome;
        return outcome;
      } catch (error) {
        if (engine.failure(error) !== 'duplicate') throw error;
      }
    }
  } catch (error) {
    // For any other row the same request will do in a moment; for that of the key, its outcome will be there.
    if (engine.failure(error) !== 'locked' || !atKey) throw error;
  }
  throw new IdempotencyInProgress();
}

/** Forgets the oldest keys, if they are from before this moment in ISO 8601, and resolves to how many. */
export function forgetKeys(engine: Engine, before: string): Promise<number> {
  return engine.transaction(function* () {
    const oldest = 'SELECT created_at FROM idempotency_key WHERE created_at < ? ORDER BY created_at LIMIT ?';
    const rows = yield { sql: oldest, values: [before, MAX_FORGOTTEN] };
    const last = rows.at(-1);
    // By the moment itself: a key that is renewed meanwhile has a later one, and stays.
    if (last) yield { sql: 'DELETE FROM idempotency_key WHERE created_at <= ?', values: last };
    return rows.length;
  });
}

/** Adds one pet in a transaction that is open; `atKey` is told whether it is the key's row that is waited for next. */
function* addOne(
  engine: Engine,
  { pet, key }: Addition,
  atKey: (yes: boolean) => void = () => undefined,
): Script<Added | Error> {
  atKey(true);
  if (key) {
    const [found] = yield { sql: FIND_KEY, values: [key.scope, key.key] };
    const outcome = found && replay(found, key);
    if (outcome) {
      // The first time it may have been cut off between its commit and the standby that should have it before anybody is told.
      if (engine.concurrentWriters) yield { sql: CONFIRM_KEY, values: [key.scope, key.key] };
      return outcome;
    }
    // That very one, for another may have come in its place.
    if (found) yield { sql: FORGET_KEY, values: [key.scope, key.key, keyTable.entity(found).petId] };
  }
  atKey(false);
  const [[id] = []] = yield engine.insertion(petTable, [pet]);
  atKey(true);
  const outcome = added(pet, id);
  if (key) yield engine.insertion(keyTable, [{ ...key, petId: outcome.pet.id }]);
  return outcome;
}

function added(pet: NewPet, id: unknown): Added {
  return { pet: { id: BigInt(id as string | bigint), ...pet }, replayed: false };
}

function withKey({ pet, key }: Required<Addition>): Statement {
  const values = [...keyTable.values(key, KEY_COLUMNS), key.scope, key.key, ...petTable.values(pet)];
  return { sql: ADD_WITH_KEY, values };
}

/** What becomes of an addition whose key was found; undefined if that one counts no longer. */
function replay(found: Row, { fingerprint, at }: IdempotencyKey): Added | Error | undefined {
  const earlier = keyTable.entity(found);
  const pet = found.slice(keyTable.columns.length);
  if (pet[0] === null || at.getTime() - earlier.at.getTime() >= IDEMPOTENCY_KEY_LIFETIME) return undefined;
  return earlier.fingerprint === fingerprint
    ? { pet: petTable.entity(pet), replayed: true }
    : new IdempotencyKeyReused();
}

function typed(columns: readonly Column[]): string {
  return columns.map(({ type }) => `?::${type}`).join(', ');
}
