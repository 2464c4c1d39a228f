import { createHash } from 'node:crypto';
import { StoreUnavailable, UsageError } from '../../../application/errors.js';
import { DatabaseLimits, LastingUrl } from '../database-url.js';
import { tables } from './data-source-options.js';
import { Engine } from './engines/engine.js';
import { InstallationSchema } from './installation/installation.schema.js';
import { ApiKeySchema } from './keys/api-key.schema.js';
import { withEngine } from './open-database.js';
import { petTable } from './pets/pet.schema.js';
import { applySteps, schemaSteps } from './schema-steps.js';
import { names, Row, Table } from './table.js';

/** How many rows are read and written at a time. */
const BATCH = 500;

/** The table whose rows the migrations make, which those of the source replace. */
const FILLED_BY_MIGRATIONS = InstallationSchema.options.name;

/** How far a copy has come. */
export interface CopyProgress {
  /** The table that is being copied, or the side that is being compared. */
  readonly step: string;
  readonly done: number;
  readonly total: number;
}

type Report = (progress: CopyProgress) => void;

/** What is in a store; on both sides of a copy that is exact. */
export interface CopyReport {
  readonly pets: number;
  readonly keys: number;
  /** SHA-256 sums of all rows, added up: the same for the same rows, in whatever order. 64 hexadecimal digits. */
  readonly checksum: string;
}

/**
 * Copies a whole store into an empty one, which is migrated first, with every id; then reads both sides and compares them. Rejects with
 * `UsageError` if the target is not empty, the source is not of this build's schema, or the two are not the same in the end.
 */
export function copyStore(
  from: LastingUrl,
  to: LastingUrl,
  limits: DatabaseLimits,
  report: Report,
): Promise<CopyReport> {
  return withEngine(from, limits, (source) =>
    withEngine(to, limits, async (target) => {
      await requireSchema(source, 'The source');
      await applySteps(target);
      await refuseRows(target);
      try {
        for (const table of tables) await copyTable(table, source, target, report);
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

/** Rejects with `UsageError`, one line that begins with what the database is called, if it has not the schema of this build. */
export async function requireSchema({ readSource }: Engine, name: string): Promise<void> {
  if ((await schemaSteps(readSource, true)).some(({ applied }) => !applied)) {
    throw new UsageError(`${name} has not the schema of this build; "petstore migrate run" with its URL gives it.`);
  }
}

/** Reads a whole store, and resolves to what is in it. */
export async function contentsOf(engine: Engine): Promise<CopyReport> {
  return summary(await sum(engine, 'store', () => undefined));
}

async function refuseRows(target: Engine): Promise<void> {
  for (const { name } of tables) {
    if (name === FILLED_BY_MIGRATIONS) continue;
    if (await target.row({ sql: `SELECT 1 FROM ${name} LIMIT 1`, values: [] })) {
      throw new UsageError(`The target is not empty: its table ${name} has rows. Nothing was copied.`);
    }
  }
}

async function copyTable(table: Table, source: Engine, target: Engine, report: Report): Promise<void> {
  const { name, columns } = table;
  if (name === FILLED_BY_MIGRATIONS) await target.write({ sql: `DELETE FROM ${name}`, values: [] });
  const total = await count(source, name);
  let done = 0;
  for await (const rows of batches(source, table)) {
    await target.write(table.insert(columns, rows));
    report({ step: name, done: (done += rows.length), total: Math.max(total, done) });
  }
  if (columns.some(({ generated }) => generated)) await target.continueIds(table, await source.lastId(table));
}

/** Reads both sides once more. What the source has taken in meanwhile makes a difference too. */
async function compare(source: Engine, target: Engine, report: Report): Promise<CopyReport> {
  const [before, after] = [await sum(source, 'source', report), await sum(target, 'target', report)];
  for (const { name } of tables) {
    if (before.counts[name] !== after.counts[name] || before.sums[name] !== after.sums[name]) {
      throw new UsageError(
        `The two are not the same: ${name} has ${before.counts[name]} rows there and ${after.counts[name]} here. ` +
          `Stop what writes to the source, empty the target with "petstore migrate revert", and copy again.`,
      );
    }
  }
  return summary(before);
}

interface Sums {
  readonly counts: Readonly<Record<string, number>>;
  readonly sums: Readonly<Record<string, bigint>>;
}

function summary({ counts, sums }: Sums): CopyReport {
  const all = Object.values(sums).reduce((a, b) => a + b);
  return {
    pets: counts[petTable.name] ?? 0,
    keys: counts[ApiKeySchema.options.name] ?? 0,
    checksum: BigInt.asUintN(256, all).toString(16).padStart(64, '0'),
  };
}

async function sum(engine: Engine, side: string, report: Report): Promise<Sums> {
  const counts: Record<string, number> = {};
  const sums: Record<string, bigint> = {};
  for (const table of tables) {
    const total = await count(engine, table.name);
    let [rowCount, rowSum] = [0, 0n];
    for await (const rows of batches(engine, table)) {
      for (const row of rows) {
        // An int64 is a bigint on one engine and a string on another.
        const values = row.map((value) => (value === null ? null : String(value as string | bigint | number)));
        const text = JSON.stringify([table.name, ...values]);
        rowSum += BigInt(`0x${createHash('sha256').update(text).digest('hex')}`);
      }
      rowCount += rows.length;
      if (table.name === petTable.name)
        report({ step: `comparing ${side}`, done: rowCount, total: Math.max(total, rowCount) });
    }
    counts[table.name] = rowCount;
    sums[table.name] = rowSum;
  }
  return { counts, sums };
}

/** The rows of a table by its primary key, in batches, each found from where the one before has ended. */
async function* batches(engine: Engine, { name, columns, key, select }: Table): AsyncGenerator<Row[]> {
  const all = `SELECT ${select} FROM ${name}`;
  const order = `ORDER BY ${names(key)} LIMIT ${BATCH}`;
  // (a, b) > (x, y), said so that every engine finds the place in its index.
  const beyond = key.reduceRight(
    (rest, { name }) => (rest === '' ? `${name} > ?` : `${name} >= ? AND (${name} > ? OR ${rest})`),
    '',
  );
  let rows = await engine.rows({ sql: `${all} ${order}`, values: [] });
  while (rows.length > 0) {
    yield rows;
    if (rows.length < BATCH) return;
    const last = rows.at(-1) as Row;
    const values = key.flatMap((column, i) => {
      const value = last[columns.indexOf(column)];
      // MariaDB would compare an int64 that comes as text in floating point.
      const exact = column.type === 'bigint' ? BigInt(value as string | bigint) : value;
      return i < key.length - 1 ? [exact, exact] : [exact];
    });
    rows = await engine.rows({ sql: `${all} WHERE ${beyond} ${order}`, values });
  }
}

async function count(engine: Engine, table: string): Promise<number> {
  return Number((await engine.row({ sql: `SELECT COUNT(*) FROM ${table}`, values: [] }))?.[0]);
}
