import type { QueryRunner, TableColumnOptions } from 'typeorm';

/**
 * What a column of text has besides its type, so that it is compared byte for byte: other collations of MariaDB and MySQL take "Zoë" for
 * "Zoe", or "a " for "a". The same collation has another name on each of the two.
 */
export async function binaryText(runner: QueryRunner): Promise<Partial<TableColumnOptions>> {
  if (!['mysql', 'mariadb'].includes(runner.dataSource.options.type)) return {};
  const [row] = (await runner.query('SELECT VERSION() AS version')) as { version: string }[];
  return {
    charset: 'utf8mb4',
    collation: row?.version.includes('MariaDB') ? 'utf8mb4_nopad_bin' : 'utf8mb4_0900_bin',
  };
}
