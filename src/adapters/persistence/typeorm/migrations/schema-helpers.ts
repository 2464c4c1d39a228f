import { QueryRunner } from 'typeorm';

/** The SQL of a migration in which the databases differ. */
export interface Ddl {
  /** The type of a text, of at most so many characters, that is compared byte for byte. */
  readonly text: (length: number) => string;
  /** The column `id`, an int64 that is the primary key, and generated. */
  readonly id: string;
  /** What follows the columns of a table. */
  readonly tableOptions: string;
  /** For each table, column and index: DDL of MariaDB commits by itself, so that a migration must be resumable. */
  readonly ifNotExists: string;
}

export function ddlOf(runner: QueryRunner): Ddl {
  const { type } = runner.dataSource.options;
  if (type !== 'mariadb') {
    // SQLite generates ids only in a column of this very type, which holds an int64 all the same. TypeORM looks for the
    // quotes.
    const id = type === 'postgres' ? 'id bigserial PRIMARY KEY' : '"id" integer PRIMARY KEY AUTOINCREMENT NOT NULL';
    return { text: (length) => `varchar(${length})`, id, tableOptions: '', ifNotExists: '' };
  }
  return {
    // Other collations take "Zoë" for "Zoe", or "a " for "a".
    text: (length) => `varchar(${length}) CHARACTER SET utf8mb4 COLLATE utf8mb4_nopad_bin`,
    id: 'id bigint AUTO_INCREMENT PRIMARY KEY',
    tableOptions: 'ENGINE = InnoDB',
    ifNotExists: 'IF NOT EXISTS',
  };
}
