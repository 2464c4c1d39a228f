import { MigrationInterface, QueryRunner, Table, TableColumnOptions, TableOptions } from 'typeorm';
import { isMariadb, MARIADB_TEXT } from './schema-helpers.js';

/** The catalogue, the API keys and their use, and the idempotency keys. */
export class CreateTables1795132800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const mariadb = isMariadb(runner);
    const sqlite = runner.dataSource.options.type === 'better-sqlite3';
    const text = (name: string, length: number, more: Partial<TableColumnOptions> = {}): TableColumnOptions => ({
      name,
      type: 'varchar',
      length: String(length),
      ...(mariadb && MARIADB_TEXT),
      ...more,
    });
    const digest = text('digest', 64, { isPrimary: true });
    // DDL ends a transaction there: a run that was cut short goes on with the table that it came to.
    const create = (table: TableOptions) =>
      runner.createTable(new Table({ ...table, ...(mariadb && { engine: 'InnoDB' }) }), mariadb);
    const id: TableColumnOptions = {
      name: 'id',
      // Only a column of this very type can be SQLite's AUTOINCREMENT; it holds an int64 all the same.
      type: sqlite ? 'integer' : 'bigint',
      isPrimary: true,
      isGenerated: true,
      generationStrategy: 'increment',
    };
    await create({
      name: 'pet',
      columns: [id, text('name', 255), { name: 'category_id', type: 'bigint' }, text('status', 9)],
      indices: [{ name: 'pet_status_id', columnNames: ['status', 'id'] }],
    });
    await create({
      name: 'api_key',
      columns: [
        digest,
        text('name', 64),
        text('prefix', 16),
        text('created_at', 24),
        text('expires_at', 24, { isNullable: true }),
        text('revoked_at', 24, { isNullable: true }),
      ],
    });
    await create({
      name: 'key_use',
      columns: [
        digest,
        text('name', 64),
        text('last_used_at', 24),
        { name: 'get_pet_calls', type: 'bigint' },
        text('last_get_pet_at', 24, { isNullable: true }),
      ],
    });
    await create({
      name: 'idempotency_key',
      columns: [
        text('scope', 64, { isPrimary: true }),
        text('token', 255, { isPrimary: true }),
        text('fingerprint', 64),
        { name: 'pet_id', type: 'bigint' },
        text('created_at', 24),
      ],
      indices: [{ name: 'idempotency_key_created_at', columnNames: ['created_at'] }],
    });
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['idempotency_key', 'key_use', 'api_key', 'pet']) {
      await runner.dropTable(table, true);
    }
  }
}
