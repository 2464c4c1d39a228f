import { MigrationInterface, QueryRunner } from 'typeorm';
import { cannotRevert, ddlOf } from './schema-helpers.js';

/** The catalogue, the API keys and their use, and the idempotency keys. */
export class CreateTables1795132800000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    const { text, id, tableOptions, ifNotExists } = ddlOf(runner);
    await runner.query(`CREATE TABLE ${ifNotExists} pet (
      ${id},
      name ${text(255)} NOT NULL,
      category_id bigint NOT NULL,
      status ${text(9)} NOT NULL
    ) ${tableOptions}`);
    await runner.query(`CREATE INDEX ${ifNotExists} pet_status_id ON pet (status, id)`);
    await runner.query(`CREATE TABLE ${ifNotExists} api_key (
      digest ${text(64)} PRIMARY KEY NOT NULL,
      name ${text(64)} NOT NULL,
      prefix ${text(16)} NOT NULL,
      created_at ${text(24)} NOT NULL,
      expires_at ${text(24)},
      revoked_at ${text(24)}
    ) ${tableOptions}`);
    await runner.query(`CREATE TABLE ${ifNotExists} key_use (
      digest ${text(64)} PRIMARY KEY NOT NULL,
      name ${text(64)} NOT NULL,
      last_used_at ${text(24)} NOT NULL,
      get_pet_calls bigint NOT NULL,
      last_get_pet_at ${text(24)}
    ) ${tableOptions}`);
    await runner.query(`CREATE TABLE ${ifNotExists} idempotency_key (
      scope ${text(64)} NOT NULL,
      token ${text(255)} NOT NULL,
      fingerprint ${text(64)} NOT NULL,
      pet_id bigint NOT NULL,
      created_at ${text(24)} NOT NULL,
      PRIMARY KEY (scope, token)
    ) ${tableOptions}`);
    await runner.query(`CREATE INDEX ${ifNotExists} idempotency_key_created_at ON idempotency_key (created_at)`);
  }
  down = cannotRevert;
}
