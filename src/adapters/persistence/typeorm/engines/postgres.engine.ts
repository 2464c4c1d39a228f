import { Socket } from 'node:net';
import pg from 'pg';
import { DataSource, QueryRunner } from 'typeorm';
import { fail, Finding, ok, warn } from '../../../../application/finding.js';
import { DatabaseLimits, ServerUrl, Tls } from '../../database-url.js';
import { serverOptions } from '../data-source-options.js';
import { names, Row, Statement, Table } from '../table.js';
import { driverError, Engine, Failure, runScript, Script } from './engine.js';
import { answersDue, breakWhenStill, nothingDue } from './standstill.js';

/** How long a statement waits for a lock, in milliseconds; for the same idempotency key of another instance, say. */
const LOCK_TIMEOUT = 2_000;

/** What tells the lock on the schema from the locks of others in the same database. */
const SCHEMA_LOCK = 1_795_132_800;

/** How long an unused connection is kept, in milliseconds. */
const IDLE_TIMEOUT = 300_000;

/**
 * What a server, a database or a role may be set to makes no difference: an answer of 201 says that the pet is on disk, and a statement sees
 * what was committed before it.
 */
const SESSION = `SET default_transaction_isolation = 'read committed';
  SET default_transaction_deferrable = off; SET client_encoding = 'UTF8';
  SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

/** The settings of a server that are inspected. */
const INSPECTED = [
  'server_version',
  'default_transaction_read_only',
  'fsync',
  'synchronous_commit',
  'full_page_writes',
] as const;

/**
 * What the SQLSTATEs say that are no fault of the question (https://www.postgresql.org/docs/current/errcodes-appendix.html), and the codes
 * of Node; the first that fits counts. Those of unavailability: connection, authorisation, catalogue name, rollback, resources,
 * intervention and system errors, read-only transaction, missing rights, which can be granted.
 */
const FAILURES = [
  [/^23505$/, 'duplicate'],
  [/^55P03$/, 'unavailable'],
  [/^(40001|40P01)$/, 'busy'],
  [/^(08|28|3D|40|53|57|58)...$|^(25006|42501)$/, 'unavailable'],
  [/^E[A-Z]{3,}|CERT|^ERR_(TLS|SSL|OSSL)|^UNABLE_TO/, 'unavailable'],
] as const;

/** The place of a row, by which the context of an error says that it was this row that was waited for, and not its table. */
const ROW = /\(\d+,\d+\)/;

/** What the driver and Node say without a code. */
const DISCONNECTED =
  /^(Connection terminated|timeout exceeded|Client has encountered|Cannot use a pool|The server does not support SSL)/;

/** PostgreSQL, and what speaks as it does. Every operation of the service is one round trip. */
export class PostgresEngine implements Engine {
  readonly dataSource: DataSource;
  readonly concurrentWriters = true;
  readonly writesInWith = true;
  private readonly statements = new Map<string, { name: string; text: string }>();

  constructor(
    private readonly url: ServerUrl,
    limits: DatabaseLimits,
  ) {
    this.dataSource = this.source(url.pool, {
      connectionTimeoutMillis: limits.poolTimeout,
      statement_timeout: limits.statementTimeout,
      idle_in_transaction_session_timeout: limits.statementTimeout,
      lock_timeout: Math.min(LOCK_TIMEOUT, limits.statementTimeout),
    });
  }

  rows(statement: Statement): Promise<Row[]> {
    return this.query(this.pool, statement);
  }

  async row(statement: Statement): Promise<Row | undefined> {
    return (await this.rows(statement))[0];
  }

  async transaction<T>(script: () => Script<T>): Promise<T> {
    const client = await this.pool.connect();
    try {
      await client.query('BEGIN');
      const result = await runScript(script(), (statement) => this.query(client, statement));
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // The connection is never used again: nobody knows what it was in the middle of.
      client.release(true);
      throw error;
    }
  }

  /** One text for any number of entities, so that it is prepared once. */
  insertion<Entity extends object>(table: Table<Entity>, entities: readonly Partial<Entity>[]): Statement {
    const columns = names(table.given);
    const arrays = table.given.map(({ type }) => `?::${type}[]`).join(', ');
    const rows = entities.map((entity) => table.values(entity));
    return {
      sql: `INSERT INTO ${table.name} (${columns})
        SELECT ${columns} FROM unnest(${arrays}) WITH ORDINALITY AS given (${columns}, ordinality)
        ORDER BY ordinality RETURNING ${names(table.key)}`,
      values: table.given.map((_column, i) => rows.map((row) => row[i])),
    };
  }

  async lastId(table: Table): Promise<bigint> {
    const [last] = (await this.row({
      sql: `SELECT pg_sequence_last_value(pg_get_serial_sequence('${table.name}', '${names(table.key)}')::regclass)`,
      values: [],
    })) as [string | null];
    return BigInt(last ?? 0);
  }

  async continueIds(table: Table, above: bigint): Promise<void> {
    const id = names(table.key);
    const last = `GREATEST(max(${id}), ?::bigint)`;
    await this.rows({
      sql: `SELECT setval(pg_get_serial_sequence('${table.name}', '${id}'), GREATEST(${last}, 1), ${last} >= 1) FROM ${table.name}`,
      values: [above, above],
    });
  }

  async encoding(): Promise<Finding> {
    const { server_encoding: server, client_encoding: client } = await this.settings([
      'server_encoding',
      'client_encoding',
    ]);
    if (server === 'UTF8' && client === 'UTF8') return ok('encoding', 'UTF8');
    if (server === 'UTF8') {
      const found = `The encoding of the connection is ${client}, which cannot hold every name exactly.`;
      return fail('encoding', found, 'client_encoding must be left to the service, which asks for UTF8.');
    }
    return fail(
      'encoding',
      `The encoding of the database is ${server}, which cannot hold every name exactly.`,
      "Another database is needed, made by CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
    );
  }

  async inspect(): Promise<Finding[]> {
    const settings = await this.settings(INSPECTED);
    const [recovery] = (await this.row({ sql: 'SELECT pg_is_in_recovery()', values: [] })) as [boolean];
    const { fsync, synchronous_commit: commit, full_page_writes: pages } = settings;
    const durability = `fsync=${fsync}, synchronous_commit=${commit}, full_page_writes=${pages}`;
    const standby = recovery && 'The server is a standby, which cannot be written.';
    const readOnly = settings.default_transaction_read_only === 'on' && 'default_transaction_read_only is on.';
    const unwritable = standby || readOnly;
    return [
      ok('version', `PostgreSQL ${settings.server_version}`),
      unwritable
        ? fail('writing', unwritable, 'DATABASE_URL must lead to the primary, with transactions that may write.')
        : ok('writing', 'a primary that can be written'),
      fsync === 'off' || commit === 'off'
        ? fail('durability', `${durability}: a 201 is not on disk.`, 'fsync and synchronous_commit must be on.')
        : pages === 'off'
          ? warn('durability', `${durability}: a crash can tear pages.`, 'full_page_writes should be on.')
          : ok('durability', durability),
    ];
  }

  schemaSource(): DataSource {
    return this.source(1, {});
  }

  async lockSchema(runner: QueryRunner): Promise<void> {
    await runner.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
  }

  failure(error: unknown): Failure | undefined {
    const { code, message, where } = driverError(error);
    if (code === '55P03' && ROW.test(String(where))) return 'locked';
    if (typeof code === 'string') return FAILURES.find(([codes]) => codes.test(code))?.[1];
    return DISCONNECTED.test(String(message)) ? 'unavailable' : undefined;
  }

  /** Settings of the server by name, as they are for a session of the service. */
  private async settings<Name extends string>(names: readonly Name[]): Promise<Record<Name, string>> {
    const sql = `SELECT ${names.map((name) => `current_setting('${name}')`).join(', ')}`;
    const values = (await this.row({ sql, values: [] })) as Row;
    return Object.fromEntries(names.map((name, i) => [name, values[i]])) as Record<Name, string>;
  }

  private source(poolSize: number, limits: pg.PoolConfig): DataSource {
    const { tls } = this.url;
    return new DataSource({
      ...serverOptions(this.url),
      type: 'postgres',
      driver: { Pool: LimitedPool },
      poolSize,
      installExtensions: false,
      applicationName: 'petstore',
      extra: { ...limits, ssl: tls ? tlsOptions(tls) : false, keepAlive: true, idleTimeoutMillis: IDLE_TIMEOUT },
    });
  }

  private get pool(): pg.Pool {
    return (this.dataSource.driver as unknown as { master: pg.Pool }).master;
  }

  private async query(connection: pg.Pool | pg.PoolClient, { sql, values }: Statement): Promise<Row[]> {
    const query = { ...this.prepared(sql), values: [...values], rowMode: 'array' };
    return (await connection.query<Row & unknown[]>(query)).rows;
  }

  private prepared(sql: string): { name: string; text: string } {
    let statement = this.statements.get(sql);
    if (!statement) {
      let place = 0;
      statement = { name: `petstore_${this.statements.size}`, text: sql.replace(/\?/g, () => `$${++place}`) };
      this.statements.set(sql, statement);
    }
    return statement;
  }
}

/** A pool whose connections are broken if a statement takes longer than it may. */
class LimitedPool extends pg.Pool {
  constructor(options: pg.PoolConfig) {
    const limit = Number(options.statement_timeout) || 0;
    super({
      ...options,
      onConnect: (client) => {
        breakWhenStill(socketOf(client));
        // Who waits for an answer is told by a rejection; without a listener the event would end the process.
        client.on('error', () => undefined);
        if (limit > 0) answersDue(socketOf(client), limit);
        return client.query(SESSION) as unknown as void;
      },
    });
    if (limit === 0) return;
    this.on('acquire', (client) => answersDue(socketOf(client), limit));
    this.on('release', (_error, client) => nothingDue(socketOf(client)));
  }
}

function socketOf(client: pg.ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}

function tlsOptions({ mode, ca }: Tls): pg.PoolConfig['ssl'] {
  return {
    ca,
    rejectUnauthorized: mode !== 'require',
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  };
}
