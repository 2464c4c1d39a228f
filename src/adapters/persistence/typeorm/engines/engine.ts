import { DataSource } from 'typeorm';
import { NewPet } from '../../../../domain/pets/pet.js';

/** A row, in the order of the selected columns. An int64 may come as a bigint, a string or a number without loss. */
export type Row = readonly unknown[];

/** What is said in another way on each kind of database. Errors are the driver's own. */
export interface Engine {
  readonly dataSource: DataSource;

  /** Runs one statement, prepared once and kept, with `?` for each value, and resolves to its rows. */
  rows(sql: string, values: readonly unknown[]): Promise<Row[]>;

  /** Stores the animals in one transaction and resolves, once it is on disk, to their ids: increasing, in the order given. */
  insertPets(pets: readonly NewPet[]): Promise<bigint[]>;

  /** Whether the error says that the database cannot answer now, and not that the question was wrong. */
  isUnavailable(error: unknown): boolean;

  /** Whether the error says that another transaction was in the way, so that the same question will do in a moment. */
  isBusy(error: unknown): boolean;

  /** A number that changes with every commit of any other process; undefined where only asking tells. */
  revision(): number | undefined;
}
