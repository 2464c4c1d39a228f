import { MigrationInterface, QueryRunner } from 'typeorm';
import { addColumn, isMariadb } from './schema-helpers.js';

/**
 * Valid API keys have unique names from here on. Cursors need no secret: the table `installation` of release 1.0.0 is
 * dropped.
 */
export class UniqueKeyNames1795651200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    await addColumn(runner, 'api_key', 'active_name', 'varchar(64)');
    // Of several valid keys with one name the newest holds it.
    const valid = (await runner.query(
      `SELECT digest, name FROM api_key WHERE revoked_at IS NULL
        AND (expires_at IS NULL OR expires_at > '${new Date().toISOString()}') ORDER BY created_at`,
    )) as { digest: string; name: string }[];
    const owners = new Map(valid.map(({ name, digest }) => [name, digest]));
    for (const digest of owners.values())
      await runner.query(`UPDATE api_key SET active_name = name WHERE digest = '${digest}'`);
    await runner.query(
      `CREATE UNIQUE INDEX ${isMariadb(runner) ? 'IF NOT EXISTS' : ''} api_key_active_name ON api_key (active_name)`,
    );
    await runner.dropTable('installation', true);
  }

  async down(runner: QueryRunner): Promise<void> {
    await runner.query(`DROP INDEX api_key_active_name ${isMariadb(runner) ? 'ON api_key' : ''}`);
    await runner.query('ALTER TABLE api_key DROP COLUMN active_name');
  }
}
