import { DataSource, QueryRunner } from 'typeorm';
import { IdempotencyKeyReused } from '../../../../application/errors.js';
import { Added, Once } from '../../../../application/pets/pet-repository.port.js';
import { NewPet } from '../../../../domain/pets/pet.js';
import { petOf, Row } from '../rows.js';

/** An animal to add, and the mark to add it with. */
export interface Addition {
  readonly pet: NewPet;
  readonly once?: Once;
}

/** The statements of the list. Each walks one index from its place on, whatever the planner makes of the data. */
export interface ListStatements {
  /** By the limit. */
  readonly all: string;
  /** By the id to begin below, and the limit. */
  readonly allBelow: string;
  /** By the status and the limit. */
  readonly ofStatus: string;
  /** By the status, the id to begin below, and the limit. */
  readonly ofStatusBelow: string;
}

/** What is said in another way on each kind of database. Errors are the driver's own. */
export interface Engine {
  /** The connections of the service. */
  readonly dataSource: DataSource;

  readonly lists: ListStatements;

  /** Whether an addition with a mark may wait for another instance's; if so it comes to `addPets` alone. */
  readonly twinsWait: boolean;

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

  /** Has the ids that follow be above all that there are, where animals were stored with the ids that they had. */
  continueIds(): Promise<void>;

  /** A connection of its own, not opened yet, for work on the schema: without time limits. */
  schemaSource(): DataSource;

  /** Keeps all others from changing the schema until the runner's transaction and connection have ended. */
  lockSchema(runner: QueryRunner): Promise<void>;

  /** Whether the error says that the database cannot answer now, and not that the question was wrong. */
  isUnavailable(error: unknown): boolean;

  /** Whether the error says that another transaction was in the way, so that the same question will do in a moment. */
  isBusy(error: unknown): boolean;

  /** A number that changes with every commit of any other process; undefined where only asking tells. */
  revision(): number | undefined;
}

/** The columns of an animal, as `petOf` reads them. */
export const SELECT_PET = 'SELECT id, name, category_id, status FROM pet';

/** The animal that was added with a mark, by scope, key and the earliest moment that counts, and behind it the mark's fingerprint. */
export const FIND_MARK = `SELECT pet.id, pet.name, pet.category_id, pet.status, idempotency_key.fingerprint
  FROM idempotency_key JOIN pet ON pet.id = idempotency_key.pet_id
  WHERE idempotency_key.scope = ? AND idempotency_key.token = ? AND idempotency_key.created_at > ?`;

/** How often an addition is tried whose mark is there and then, when it is looked at, is not. */
export const MARK_ATTEMPTS = 5;

/** What becomes of an addition whose mark was found, by the row of `FIND_MARK`. */
export function replay(row: Row, once: Once): Added | Error {
  return row[4] === once.fingerprint ? { pet: petOf(row), replayed: true } : new IdempotencyKeyReused();
}

/** The driver's error, out of TypeORM's. */
export function driverError(error: unknown): {
  readonly code?: unknown;
  readonly errno?: unknown;
  readonly message?: unknown;
} {
  return (error as { driverError?: object } | undefined)?.driverError ?? error ?? {};
}
