import { QueryRunner } from 'typeorm';

/**
 * Whether the runner's database is MariaDB, whose DDL commits by itself: what a migration does there must be resumable.
 */
export function isMariadb(runner: QueryRunner): boolean {
  return runner.dataSource.options.type === 'mariadb';
}

/**
 * What a text column of MariaDB needs to be compared byte for byte: other collations take "Zoë" for "Zoe", or "a " for
 * "a".
 */
export const MARIADB_TEXT = { charset: 'utf8mb4', collation: 'utf8mb4_nopad_bin' };

/**
 * Adds a nullable column of a type that all databases have, such as `bigint` or `varchar(64)`, unless it exists.
 * (TypeORM's `addColumn` copies a table of SQLite, and forgets the highest id of deleted rows.)
 */
export async function addColumn(runner: QueryRunner, table: string, name: string, type: string): Promise<void> {
  if (await runner.hasColumn(table, name)) return;
  const { charset, collation } = MARIADB_TEXT;
  const exact = isMariadb(runner) && type.startsWith('varchar') ? `CHARACTER SET ${charset} COLLATE ${collation}` : '';
  await runner.query(`ALTER TABLE ${table} ADD COLUMN ${name} ${type} ${exact} NULL`);
}
