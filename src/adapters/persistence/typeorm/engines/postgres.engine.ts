import { createHash } from 'node:crypto';
import pg from 'pg';
import { DataSource, QueryRunner } from 'typeorm';
import { fail, Finding, ok, warn } from '../../../../application/finding.js';
import { DatabaseLimits, Host, ServerUrl, Tls } from '../../database-url.js';
import { serverOptions } from '../data-source-options.js';
import { INT64_MAX } from '../../../../domain/int64.js';
import { names, perTable, Row, Statement, Table } from '../table.js';
import {
  driverError,
  Engine,
  Failure,
  isOfServer,
  LONGEST_SHARED,
  POOLS,
  PoolState,
  runScript,
  Script,
  ServerState,
  shares,
  Together,
} from './engine.js';
import {
  beginLocal,
  LimitedPool,
  LimitedPoolOptions,
  newSocket,
  requirePrimary,
  sessionSettings,
  socketOf,
  stateOf,
  writing,
} from './postgres-pool.js';
import { Primary, ROLE_TIMEOUT } from './primary.js';

/** What tells the lock on the schema from the locks of others in the same database. */
const SCHEMA_LOCK = 1_795_132_800;

/** How long an unused connection is kept, in milliseconds. */
const IDLE_TIMEOUT = 300_000;

/** How a transaction begins, whatever a server, a database or a role is set to: a statement sees what was committed before it. */
const BEGIN = 'BEGIN ISOLATION LEVEL READ COMMITTED, NOT DEFERRABLE';

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
 * of Node; the first that fits counts. Lost is also a connection that the server has ended because it was idle. Those of unavailability:
 * connection, authorisation, catalogue name, rollback, resources, intervention and system errors, read-only transaction, missing rights,
 * which can be granted, and a state that can be changed, such as that of a database that is to take no connections.
 */
const FAILURES = [
  [/^23505$/, 'duplicate'],
  [/^55P03$/, 'unavailable'],
  [/^(40001|40P01)$/, 'busy'],
  [/^(08...|25P0[34]|57P0[1-35]|E[A-Z]{3,})$/, 'lost'],
  [/^(28|3D|40|53|57|58)...$|^(25006|42501|55000)$/, 'unavailable'],
  [/CERT|^ERR_(TLS|SSL|OSSL)|^UNABLE_TO/, 'unavailable'],
] as const;

/** The place of a row, by which the context of an error says that it was this row that was waited for, and not its table. */
const ROW = /\(\d+,\d+\)/;

/** What the driver says if no connection of the pool came free in time. */
const NONE_FREE = 'timeout exceeded when trying to connect';

/** What the driver and Node say of a connection without a code; the last two of a server that does not speak as PostgreSQL does. */
const DISCONNECTED =
  /^(Connection terminated|Client has encountered|Cannot use a pool|The server does not support SSL|Received unexpected|received invalid)/;

/**
 * One text for any number of questions, so that it is prepared once. `OFFSET 0` and the limit within the limit keep the planner to one look
 * into the index for each: it would walk the whole table if there are few rows, or if it cannot know how few rows of many are wanted.
 */
const TOGETHER: Together = {
  find: ({ name, key, select }, ids) => ({
    sql: `SELECT found.* FROM unnest(?::bigint[]) AS asked (id)
      CROSS JOIN LATERAL (SELECT ${select} FROM ${name} WHERE ${name}.${names(key)} = asked.id OFFSET 0) AS found`,
    values: [int64s(ids)],
  }),
  walkDown: (table, walks) => {
    const id = names(table.key);
    const filters = walks.map(({ where }) => table.filter(where));
    const [{ column, type, value } = table.filter(undefined)] = filters;
    const [given, from, order] =
      value === undefined
        ? ['', `${id} <= asked.last`, `${id} DESC`]
        : [
            `?::${type}[], `,
            `${column} >= asked.value AND (${column}, ${id}) <= (asked.value, asked.last)`,
            `${column} DESC, ${id} DESC`,
          ];
    return {
      sql: `SELECT walked.*, (asked.place - 1)::int
        FROM unnest(${given}?::bigint[], ?::bigint[]) WITH ORDINALITY AS asked (${given && 'value, '}last, most, place)
        CROSS JOIN LATERAL (
          SELECT * FROM (SELECT ${table.select} FROM ${table.name} WHERE ${from} ORDER BY ${order} LIMIT ${LONGEST_SHARED}) AS walk
          LIMIT asked.most) AS walked`,
      values: [
        ...(given ? [filters.map((filter) => filter.value)] : []),
        int64s(walks.map(({ before }) => (before === undefined ? INT64_MAX : before - 1n))),
        int64s(walks.map(({ limit }) => limit)),
      ],
    };
  },
};

/** One text for any number of entities, so that it is prepared once. */
const insertInto = perTable(({ name, given, key }) => {
  const columns = names(given);
  const arrays = given.map(({ type }) => `?::${type}[]`).join(', ');
  return `INSERT INTO ${name} (${columns})
    SELECT ${columns} FROM unnest(${arrays}) WITH ORDINALITY AS given (${columns}, ordinality)
    ORDER BY ordinality RETURNING ${names(key)}`;
});

/** PostgreSQL, and what speaks as it does. Every operation of the service is one round trip. */
export class PostgresEngine implements Engine {
  readonly dataSource: DataSource;
  readonly readSource: DataSource;
  readonly concurrentWriters = true;
  readonly writesInWith = true;
  readonly together = TOGETHER;
  private readonly primary: Primary;
  private readonly statements = new Map<string, { name?: string; text: string }>();

  /** `looking` is for who changes nothing, and takes a standby too. */
  constructor(
    private readonly url: ServerUrl,
    private readonly limits: DatabaseLimits,
    private readonly looking = false,
  ) {
    this.primary = new Primary(
      url.hosts,
      (host) => this.askHost(host, requirePrimary),
      () => [this.dataSource, this.readSource].map(poolOf).filter((pool) => pool !== undefined),
    );
    const { writers, readers } = shares(url.pool);
    this.dataSource = this.source(writers, limits.statementTimeout, limits.poolTimeout);
    this.readSource = this.source(readers, limits.statementTimeout, limits.poolTimeout);
  }

  rows(statement: Statement): Promise<Row[]> {
    return this.run(this.readSource, statement);
  }

  async row(statement: Statement): Promise<Row | undefined> {
    return (await this.rows(statement))[0];
  }

  write(statement: Statement): Promise<Row[]> {
    return this.run(this.dataSource, statement);
  }

  transaction<T>(script: () => Script<T>): Promise<T> {
    return this.inTransaction(this.dataSource, script);
  }

  insertion<Entity extends object>(table: Table<Entity>, entities: readonly Partial<Entity>[]): Statement {
    const rows = entities.map((entity) => table.values(entity));
    return { sql: insertInto(table), values: table.given.map((_column, i) => rows.map((row) => row[i])) };
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
    return [
      ok('version', `PostgreSQL ${settings.server_version}`),
      writing(recovery, settings.default_transaction_read_only),
      fsync === 'off' || commit === 'off'
        ? fail('durability', `${durability}: a 201 is not on disk.`, 'fsync and synchronous_commit must be on.')
        : pages === 'off'
          ? warn('durability', `${durability}: a crash can tear pages.`, 'full_page_writes should be on.')
          : ok('durability', durability),
    ];
  }

  schemaSource(): DataSource {
    return this.source(1);
  }

  pools(): PoolState[] {
    return POOLS.map((pool) => {
      const { totalCount = 0, idleCount = 0, waitingCount = 0 } = poolOf(this.sourceOf(pool)) ?? {};
      return { pool, used: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
    });
  }

  tellWaits(tell: (pool: PoolState['pool'], duration: number) => void): void {
    for (const pool of POOLS) poolOf(this.sourceOf(pool))?.tellWaits((duration) => tell(pool, duration));
  }

  serverState(): Promise<ServerState> {
    return this.askHost(this.primary.host, stateOf);
  }

  locate(): Promise<void> {
    return this.primary.find();
  }

  async lockSchema(runner: QueryRunner): Promise<void> {
    await runner.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
  }

  failure(error: unknown): Failure | undefined {
    const { code, message, where } = driverError(error);
    if (code === '55P03' && ROW.test(String(where))) return 'locked';
    if (typeof code === 'string') return FAILURES.find(([codes]) => codes.test(code))?.[1];
    if (message === NONE_FREE) return 'unavailable';
    return DISCONNECTED.test(String(message)) ? 'lost' : undefined;
  }

  /** Settings of the server by name, as they are for a session of the service. */
  private async settings<Name extends string>(names: readonly Name[]): Promise<Record<Name, string>> {
    const sql = `SELECT ${names.map((name) => `current_setting('${name}')`).join(', ')}`;
    const values = (await this.row({ sql, values: [] })) as Row;
    return Object.fromEntries(names.map((name, i) => [name, values[i]])) as Record<Name, string>;
  }

  /** Whether a transaction is all that a connection is lent for by a pooler: nothing that is set for a session, or prepared, stays then. */
  private get inTransactionMode(): boolean {
    return this.url.pooler === 'transaction';
  }

  private sourceOf(pool: PoolState['pool']): DataSource {
    return pool === 'read' ? this.readSource : this.dataSource;
  }

  /** Connections, without time limits if none are given. */
  private source(poolSize: number, statementTimeout = 0, connectionTimeoutMillis = 0): DataSource {
    const { tls } = this.url;
    const extra: LimitedPoolOptions = {
      primary: this.primary,
      standbyToo: this.looking,
      connectionTimeoutMillis,
      statementTimeout,
      greeting: this.inTransactionMode ? undefined : sessionSettings(statementTimeout, 'SESSION'),
      ssl: tls ? tlsOptions(tls) : false,
      keepAlive: true,
      idleTimeoutMillis: IDLE_TIMEOUT,
    };
    return new DataSource({
      ...serverOptions(this.url, this.primary.host),
      type: 'postgres',
      driver: { Pool: LimitedPool },
      poolSize,
      installExtensions: false,
      applicationName: 'petstore',
      extra,
    });
  }

  /** Asks a host on a connection apart; rejects if it does not answer in time. */
  private async askHost<T>({ host, port }: Host, ask: (client: pg.ClientBase) => Promise<T>): Promise<T> {
    const { user, password, database, tls } = this.url;
    const client = new pg.Client({
      ...{ host, port, user, password, database },
      ssl: tls ? tlsOptions(tls) : false,
      stream: newSocket,
      connectionTimeoutMillis: ROLE_TIMEOUT,
      query_timeout: ROLE_TIMEOUT,
    });
    client.on('error', () => undefined);
    try {
      await client.connect();
      return await ask(client);
    } finally {
      // A host that hangs does not say good-bye.
      void client.end().catch(() => undefined);
      setTimeout(() => socketOf(client).destroy(), ROLE_TIMEOUT).unref();
    }
  }

  private run(source: DataSource, statement: Statement): Promise<Row[]> {
    if (!this.inTransactionMode) return this.noticed(() => this.query(poolOf(source)!, statement));
    // What is set for a transaction holds in one that is begun only.
    return this.inTransaction(source, function* (): Script<Row[]> {
      return yield statement;
    });
  }

  private inTransaction<T>(source: DataSource, script: () => Script<T>): Promise<T> {
    return this.noticed(async () => {
      const client = await poolOf(source)!.connect();
      try {
        if (this.inTransactionMode) await beginLocal(client, BEGIN, this.limits.statementTimeout, this.looking);
        else await client.query(BEGIN);
        const result = await runScript(script(), (statement) => this.query(client, statement));
        await client.query('COMMIT');
        client.release();
        return result;
      } catch (error) {
        // The connection is never used again: nobody knows what it was in the middle of.
        client.release(true);
        throw error;
      }
    });
  }

  /** Looks for the primary if it could not answer. */
  private async noticed<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (isOfServer(this.failure(error))) this.primary.seek();
      throw error;
    }
  }

  private async query(connection: pg.Pool | pg.PoolClient, { sql, values }: Statement): Promise<Row[]> {
    const { name, text } = this.prepared(sql);
    // Not by spreading one into the other, which is slow, if only a fiftieth of a create.
    const query = { name, text, values: [...values], rowMode: 'array' };
    return (await connection.query<Row & unknown[]>(query)).rows;
  }

  private prepared(sql: string): { name?: string; text: string } {
    let statement = this.statements.get(sql);
    if (!statement) {
      let place = 0;
      const text = sql.replace(/\?/g, () => `$${++place}`);
      // By its text, so that no pooler can take it for another one that has the same name in another process.
      const name = `petstore_${createHash('sha256').update(text).digest('hex').slice(0, 32)}`;
      statement = this.inTransactionMode ? { text } : { name, text };
      this.statements.set(sql, statement);
    }
    return statement;
  }
}

/** An array of them as PostgreSQL reads it (https://www.postgresql.org/docs/current/arrays.html#ARRAYS-INPUT): nothing in it needs the driver's quotes. */
function int64s(values: readonly (bigint | number)[]): string {
  return `{${values.join()}}`;
}

function poolOf({ driver }: DataSource): LimitedPool | undefined {
  return (driver as unknown as { master?: LimitedPool }).master;
}

function tlsOptions({ mode, ca }: Tls): pg.PoolConfig['ssl'] {
  return {
    ca,
    rejectUnauthorized: mode !== 'require',
    ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
  };
}
