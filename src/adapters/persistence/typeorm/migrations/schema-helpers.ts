import { QueryRunner } from 'typeorm';
import { Progress } from '../../../../messages/progress.js';

/** What a migration tells how far it is; `migrate` reads it, and TypeORM's own commands do not. */
export function progressOf({ data }: QueryRunner): Progress {
  return ((data as { progress?: Progress }).progress ??= new Progress());
}

/** The `down` of the migrations up to 1.2.0, the last of which moves digests of Idempotency-Keys, not their texts. */
export function cannotRevert(): Promise<never> {
  return Promise.reject(new Error('The migrations up to 1.2.0 cannot be reverted. Restore a backup.'));
}

/** The SQL of a migration in which the databases differ. */
export function ddlOf(runner: QueryRunner) {
  const { type } = runner.dataSource.options;
  if (type !== 'mariadb') {
    // SQLite generates ids only in a column of this very type, which holds an int64 all the same. TypeORM finds
    // AUTOINCREMENT only behind a quoted name.
    const id = type === 'postgres' ? 'id bigserial PRIMARY KEY' : '"id" integer PRIMARY KEY AUTOINCREMENT NOT NULL';
    return {
      text: (length: number) => `varchar(${length})`,
      id,
      tableOptions: '',
      ifNotExists: '',
      where: (condition: string) => `WHERE ${condition}`,
    };
  }
  return {
    /** The type of a text, of at most so many characters, that is compared byte for byte. */
    // Other collations take "Zoë" for "Zoe", or "a " for "a".
    text: (length: number) => `varchar(${length}) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin`,
    /** The column `id`, an int64 that is the primary key, and generated. */
    id: 'id bigint AUTO_INCREMENT PRIMARY KEY',
    /** What follows the columns of a table. */
    tableOptions: 'ENGINE = InnoDB',
    /** For each table, column and index: DDL of MariaDB commits by itself, so that a migration must be resumable. */
    ifNotExists: 'IF NOT EXISTS',
    /** What follows the columns of an index of only those rows that meet a condition; MariaDB has no such index. */
    where: () => '',
  };
}
