import { MigrationInterface, QueryRunner } from 'typeorm';
import { cannotRevert, ddlOf } from './schema-helpers.js';

/**
 * Valid API keys have unique names from here on. Cursors need no secret: the table `installation` of release 1.0.0 is
 * dropped.
 */
export class UniqueKeyNames1795651200000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { text, ifNotExists } = ddlOf(runner);
    await runner.query(`ALTER TABLE api_key ADD COLUMN ${ifNotExists} active_name ${text(64)}`);
    const now = new Date().toISOString();
    const isValid = (key: string) =>
      `${key}.revoked_at IS NULL AND (${key}.expires_at IS NULL OR ${key}.expires_at > '${now}')`;
    // Of several valid keys with one name the newest holds it.
    await runner.query(`UPDATE api_key SET active_name = name WHERE ${isValid('api_key')} AND NOT EXISTS (
      SELECT 1 FROM api_key newer WHERE newer.name = api_key.name AND ${isValid('newer')}
        AND (newer.created_at, newer.digest) > (api_key.created_at, api_key.digest)
    )`);
    await runner.query(`CREATE UNIQUE INDEX ${ifNotExists} api_key_active_name ON api_key (active_name)`);
    await runner.query('DROP TABLE IF EXISTS installation');
  }
  down = cannotRevert;
}
