import { MigrationInterface, QueryRunner } from 'typeorm';
import { query } from '../dialects/dialects.js';
import { requestKeyOf } from '../pets/pet-table.js';
import { rowsIn, rowsOf, type Run, type StoredRow } from '../rows.js';
import { cannotRevert, progressOf } from './schema-helpers.js';

const KEY = ['scope', 'token'];
const COLUMNS = [...KEY, 'fingerprint', 'pet_id', 'created_at'];

/**
 * Moves each idempotency key to the row of its pet. The table is renamed first, so that an instance of release 1.1.0
 * that still serves fails a create with a key instead of adding a second pet for a key that has moved. On MariaDB,
 * where each statement commits, the migration continues after an interruption.
 */
export class MoveIdempotencyKeys1795824001000 implements MigrationInterface {
  async up(runner: QueryRunner): Promise<void> {
    if (await runner.hasTable('idempotency_key'))
      await runner.query('ALTER TABLE idempotency_key RENAME TO moved_idempotency_key');
    if (!(await runner.hasTable('moved_idempotency_key'))) return;
    const { manager } = runner;
    const run: Run = (statement) => query(manager, statement);
    const progress = progressOf(runner);
    progress.count(await rowsIn(run, 'moved_idempotency_key'));
    for await (const keys of rowsOf(run, 'moved_idempotency_key', COLUMNS, KEY)) {
      await manager.query(moveToPets(keys));
      await progress.advance(keys.length);
    }
    progress.count(undefined);
    await runner.query('DROP TABLE moved_idempotency_key');
  }
  down = cannotRevert;
}

/** One statement for all engines. Its values are digests and integers, which need no parameters. */
function moveToPets(keys: readonly StoredRow[]): string {
  const valueOf = (sqlOf: (key: StoredRow) => string) =>
    `CASE id ${keys.map((key) => `WHEN ${key.pet_id} THEN ${sqlOf(key)}`).join(' ')} END`;
  const requestKey = ({ scope, token }: StoredRow) => `'${requestKeyOf({ scope: String(scope), key: String(token) })}'`;
  // It was stored in hexadecimal.
  const fingerprint = (key: StoredRow) => `'${Buffer.from(String(key.fingerprint), 'hex').toString('base64url')}'`;
  const requestedAt = (key: StoredRow) => String(Date.parse(String(key.created_at)));
  return `UPDATE pet SET request_key = ${valueOf(requestKey)}, fingerprint = ${valueOf(fingerprint)},
    requested_at = ${valueOf(requestedAt)} WHERE id IN (${keys.map(({ pet_id }) => pet_id).join(', ')})`;
}
