import { MigrationInterface, QueryRunner } from 'typeorm';
import { cannotRevert, ddlOf } from './schema-helpers.js';

/** The row of a pet has the request that created it from here on, and an API key has an owner. */
export class AddRequests1795824000000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { text, ifNotExists, where } = ddlOf(runner);
    const columns = [
      `request_key ${text(43)}`,
      `fingerprint ${text(43)}`,
      'requested_at bigint',
      'replays integer NOT NULL DEFAULT 0',
    ];
    for (const column of columns) await runner.query(`ALTER TABLE pet ADD COLUMN ${ifNotExists} ${column}`);
    const [unique, plain] = [`UNIQUE INDEX ${ifNotExists}`, `INDEX ${ifNotExists}`];
    await runner.query(`CREATE ${unique} pet_request_key ON pet (request_key) ${where('request_key IS NOT NULL')}`);
    await runner.query(`CREATE ${plain} pet_requested_at ON pet (requested_at) ${where('requested_at IS NOT NULL')}`);
    await runner.query(`ALTER TABLE api_key ADD COLUMN ${ifNotExists} owner ${text(64)}`);
  }
  down = cannotRevert;
}
