import { createHash } from 'node:crypto';
import { StoreUnavailable, UsageError } from '../../../application/errors.js';
import { DatabaseLimits, LastingUrl } from '../database-url.js';
import { Engine } from './engines/engine.js';
import { withEngine } from './open-database.js';
import { Row } from './rows.js';
import { applySteps, schemaSteps } from './schema-steps.js';

/** How many rows are read and written at a time. */
const BATCH = 500;

interface Table {
  readonly name: string;
  /** The columns, those of the primary key first. */
  readonly columns: readonly string[];
  readonly keyLength: number;
  /** Whether the migrations put rows there, which those of the source replace. */
  readonly filledByMigrations?: true;
}

/** What a store consists of. */
const TABLES: readonly Table[] = [
  { name: 'installation', columns: ['name', 'value'], keyLength: 1, filledByMigrations: true },
  { name: 'pet', columns: ['id', 'name', 'category_id', 'status'], keyLength: 1 },
  { name: 'api_key', columns: ['digest', 'name', 'prefix', 'created_at', 'expires_at', 'revoked_at'], keyLength: 1 },
  {
    name: 'key_use',
    columns: ['digest', 'name', 'last_used_at', 'get_pet_calls', 'last_get_pet_at'],
    keyLength: 1,
  },
  { name: 'idempotency_key', columns: ['scope', 'token', 'fingerprint', 'pet_id', 'created_at'], keyLength: 2 },
];

/** How far a copy has come. */
export interface CopyProgress {
  /** The table that is being copied, or the side that is being compared. */
  readonly step: string;
  readonly done: number;
  readonly total: number;
}

/** What a copy that is exact has found on both sides. */
export interface CopyReport {
  readonly animals: number;
  readonly keys: number;
  /** SHA-256 sums of all rows, added up: the same for the same rows, in whatever order. 64 hexadecimal digits. */
  readonly checksum: string;
}

/**
 * Copies a whole store into an empty one, which is migrated first, with every id; then reads both sides and compares them. Rejects with
 * `UsageError` where the target is not empty, the source is not of this build's schema, or the two are not the same in the end.
 */
export function copyStore(
  from: LastingUrl,
  to: LastingUrl,
  limits: DatabaseLimits,
  report: (progress: CopyProgress) => void,
): Promise<CopyReport> {
  return withEngine(from, limits, (source) =>
    withEngine(to, limits, async (target) => {
      if ((await schemaSteps(source.dataSource)).some(({ applied }) => !applied)) {
        throw new UsageError(
          'The source has not the schema of this build; "petstore migrate run" with its URL gives it.',
        );
      }
      await applySteps(target);
      await refuseRows(target);
      try {
        for (const table of TABLES) await copyTable(table, source, target, report);
        await target.continueIds();
        return await compare(source, target, report);
      } catch (error) {
        if (error instanceof UsageError) throw error;
        const cause = error instanceof Error ? error.message : String(error);
        throw new StoreUnavailable(
          `The copy was cut short: ${cause}. "petstore migrate revert" with the target's URL empties it for another attempt.`,
          { cause: error },
        );
      }
    }),
  );
}

async function refuseRows(target: Engine): Promise<void> {
  for (const { name, filledByMigrations } of TABLES) {
    if (filledByMigrations) continue;
    if (await target.row(`SELECT 1 FROM ${name} LIMIT 1`, [])) {
      throw new UsageError(`The target is not empty: its table ${name} has rows. Nothing was copied.`);
    }
  }
}

async function copyTable(
  table: Table,
  source: Engine,
  target: Engine,
  report: (progress: CopyProgress) => void,
): Promise<void> {
  const { name, columns, filledByMigrations } = table;
  if (filledByMigrations) await target.rows(`DELETE FROM ${name}`, []);
  const total = await count(source, name);
  let done = 0;
  for await (const rows of batches(source, table)) {
    const places = `(${columns.map(() => '?').join(', ')})`;
    const sql = `INSERT INTO ${name} (${columns.join(', ')}) VALUES ${rows.map(() => places).join(', ')}`;
    await target.rows(sql, rows.flat());
    report({ step: name, done: (done += rows.length), total: Math.max(total, done) });
  }
}

/** Reads both sides once more. What the source has taken in meanwhile makes a difference too. */
async function compare(source: Engine, target: Engine, report: (progress: CopyProgress) => void): Promise<CopyReport> {
  const [before, after] = [await sum(source, 'source', report), await sum(target, 'target', report)];
  for (const { name } of TABLES) {
    if (before.counts[name] !== after.counts[name] || before.sums[name] !== after.sums[name]) {
      throw new UsageError(
        `The two are not the same: ${name} has ${before.counts[name]} rows there and ${after.counts[name]} here. ` +
          `Stop what writes to the source, empty the target with "petstore migrate revert", and copy again.`,
      );
    }
  }
  const all = Object.values(before.sums).reduce(add, 0n);
  return {
    animals: before.counts.pet ?? 0,
    keys: before.counts.api_key ?? 0,
    checksum: all.toString(16).padStart(64, '0'),
  };
}

async function sum(engine: Engine, side: string, report: (progress: CopyProgress) => void) {
  const counts: Record<string, number> = {};
  const sums: Record<string, bigint> = {};
  for (const table of TABLES) {
    const total = await count(engine, table.name);
    let [rowCount, rowSum] = [0, 0n];
    for await (const rows of batches(engine, table)) {
      for (const row of rows) {
        // An int64 is a bigint on one engine and a string on another.
        const text = JSON.stringify([
          table.name,
          ...row.map((value) => (value === null ? null : String(value as string | bigint | number))),
        ]);
        rowSum = add(rowSum, BigInt(`0x${createHash('sha256').update(text).digest('hex')}`));
      }
      rowCount += rows.length;
      if (table.name === 'pet') report({ step: `comparing ${side}`, done: rowCount, total: Math.max(total, rowCount) });
    }
    counts[table.name] = rowCount;
    sums[table.name] = rowSum;
  }
  return { counts, sums };
}

function add(a: bigint, b: bigint): bigint {
  return BigInt.asUintN(256, a + b);
}

/** The rows of a table by its primary key, in batches, each found from where the one before has ended. */
async function* batches(engine: Engine, { name, columns, keyLength }: Table): AsyncGenerator<Row[]> {
  const key = columns.slice(0, keyLength);
  const select = `SELECT ${columns.join(', ')} FROM ${name}`;
  const order = `ORDER BY ${key.join(', ')} LIMIT ${BATCH}`;
  // (a, b) > (x, y), said so that every engine finds the place in its index.
  const [a, b] = key;
  const beyond = b === undefined ? `${a} > ?` : `${a} >= ? AND (${a} > ? OR ${b} > ?)`;
  let rows = await engine.rows(`${select} ${order}`, []);
  while (rows.length > 0) {
    yield rows;
    if (rows.length < BATCH) return;
    const [last, y] = rows.at(-1) as Row;
    // MariaDB would compare an id that comes as text in floating point.
    const x = name === 'pet' ? BigInt(last as string) : last;
    rows = await engine.rows(`${select} WHERE ${beyond} ${order}`, b === undefined ? [x] : [x, x, y]);
  }
}

async function count(engine: Engine, table: string): Promise<number> {
  return Number((await engine.row(`SELECT COUNT(*) FROM ${table}`, []))?.[0]);
}
