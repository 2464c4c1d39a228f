import { randomBytes } from 'node:crypto';
import { MigrationInterface, QueryRunner, Table, TableColumnOptions, TableOptions } from 'typeorm';
import { binaryText } from './binary-text.js';

/** The catalogue, the API keys and their use, the idempotency keys, and what belongs to the installation. */
export class CreateTables1795132800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const mysql = runner.dataSource.options.type === 'mysql' || runner.dataSource.options.type === 'mariadb';
    const sqlite = runner.dataSource.options.type === 'better-sqlite3';
    const binary = await binaryText(runner);
    const text = (name: string, length: number, more: Partial<TableColumnOptions> = {}): TableColumnOptions => ({
      name,
      type: 'varchar',
      length: String(length),
      ...binary,
      ...more,
    });
    const digest = text('digest', 64, { isPrimary: true });
    // DDL ends a transaction there: a run that was cut short goes on with the table that it came to.
    const create = (table: TableOptions) =>
      runner.createTable(new Table({ ...table, ...(mysql && { engine: 'InnoDB' }) }), mysql);
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
    await create({ name: 'installation', columns: [text('name', 64, { isPrimary: true }), text('value', 255)] });
    const secret = randomBytes(32).toString('base64url');
    await runner.query(`INSERT INTO installation (name, value) SELECT 'cursor_secret', '${secret}'
      WHERE NOT EXISTS (SELECT 1 FROM installation WHERE name = 'cursor_secret')`);
  }

  async down(runner: QueryRunner): Promise<void> {
    for (const table of ['installation', 'idempotency_key', 'key_use', 'api_key', 'pet']) {
      await runner.dropTable(table, true);
    }
  }
}
