import { DataSource } from 'typeorm';
import { IdempotencyKeyReused } from '../../../../application/errors.js';
import { Added, Once } from '../../../../application/pet-repository.port.js';
import { NewPet } from '../../../../domain/pets/pet.js';
import { petOf, Row } from '../rows.js';

/** An animal to add, and the mark to add it with. */
export interface Addition {
  readonly pet: NewPet;
  readonly once?: Once;
}

/** What is said in another way on each kind of database. Errors are the driver's own. */
export interface Engine {
  readonly dataSource: DataSource;

  /** Runs one statement, prepared once and kept, with `?` for each value, and resolves to its rows. */
  rows(sql: string, values: readonly unknown[]): Promise<Row[]>;

  /** The same for a statement that finds one row at most. */
  row(sql: string, values: readonly unknown[]): Promise<Row | undefined>;

  /**
   * Adds the animals in one transaction and resolves once it is on disk, to what became of each, in the order given; ids increase
   * in that order. See `PetRepository.add` for the marks. An addition that is refused by itself has an error for its outcome, and
   * the others are stored all the same.
   */
  addPets(additions: readonly Addition[]): Promise<(Added | Error)[]>;

  /** Removes at most so many marks from before this moment, in ISO 8601, and resolves to how many. */
  forgetMarks(before: string, most: number): Promise<number>;

  /** Whether the error says that the database cannot answer now, and not that the question was wrong. */
  isUnavailable(error: unknown): boolean;

  /** Whether the error says that another transaction was in the way, so that the same question will do in a moment. */
  isBusy(error: unknown): boolean;

  /** A number that changes with every commit of any other process; undefined where only asking tells. */
  revision(): number | undefined;
}

/** The animal that was added with a mark, by scope, key and the earliest moment that counts, and behind it the mark's fingerprint. */
export const FIND_MARK = `SELECT pet.id, pet.name, pet.category_id, pet.status, idempotency_key.fingerprint
  FROM idempotency_key JOIN pet ON pet.id = idempotency_key.pet_id
  WHERE idempotency_key.scope = ? AND idempotency_key.token = ? AND idempotency_key.created_at > ?`;

/** What becomes of an addition whose mark was found, by the row of `FIND_MARK`. */
export function replay(row: Row, once: Once): Added | Error {
  return row[4] === once.fingerprint ? { pet: petOf(row), replayed: true } : new IdempotencyKeyReused();
}
