import { Socket } from 'node:net';
import mysql from 'mysql2';
import type { Pool, PoolConnection, PoolOptions, ResultSetHeader } from 'mysql2';
import { DataSource, QueryRunner } from 'typeorm';
import { DatabaseLimits, ServerUrl, Tls } from '../../database-url.js';
import { serverOptions } from '../data-source-options.js';
import { Row, Statement, Table } from '../table.js';
import { driverError, Engine, Failure, runScript, Script } from './engine.js';
import { answersDue, breakWhenStill, nothingDue } from './standstill.js';

/** How long a statement waits for a lock, in seconds; for the same idempotency key of another instance, say. */
const LOCK_TIMEOUT = 2;

/** The most prepared statements kept on a connection; the server allows 16,382 to all of them. */
const MAX_STATEMENTS = 64;

/** What a server, a database or an account may be set to makes no difference. The isolation has another name on each of the two. */
const SESSION = [
  `SET SESSION autocommit = 1, completion_type = 'NO_CHAIN', time_zone = '+00:00',
    innodb_lock_wait_timeout = ${LOCK_TIMEOUT}, unique_checks = 1, sql_safe_updates = 0, sql_auto_is_null = 0,
    sql_select_limit = 18446744073709551615, sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO',
    character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = utf8mb4_bin`,
  'SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE',
];

/**
 * The errors of a server that are no fault of the question (https://mariadb.com/kb/en/mariadb-error-code-reference/): disk or memory
 * full, connections, authorisation, shutdown, network, no such database, killed, read-only.
 */
const UNAVAILABLE = [
  1021, 1028, 1037, 1040, 1041, 1042, 1043, 1044, 1045, 1049, 1053, 1077, 1114, 1129, 1135, 1142, 1143, 1158, 1159,
  1160, 1161, 1203, 1226, 1290, 1317, 1698, 1792, 1836, 1927, 1969, 3024, 3159, 4031, 4151,
];

const FAILURES = new Map<unknown, Failure>([
  ...UNAVAILABLE.map((errno) => [errno, 'unavailable'] as const),
  // A row that changed since it was read (MariaDB), and a deadlock.
  [1020, 'busy'],
  [1213, 'busy'],
  [1205, 'locked'],
  [1062, 'duplicate'],
]);

/** What the driver and Node say of a connection. */
const DISCONNECTED = /^E[A-Z]{3,}$|^PROTOCOL_|^HANDSHAKE_|CERT|^ERR_(TLS|SSL|OSSL)|^UNABLE_TO/;

/** MariaDB and MySQL. */
export class MysqlEngine implements Engine {
  readonly dataSource: DataSource;
  readonly concurrentWriters = true;
  readonly writesInWith = false;
  readonly indexHint = (index: string) => `FORCE INDEX (${index})`;

  constructor(
    private readonly url: ServerUrl,
    private readonly limits: DatabaseLimits,
  ) {
    this.dataSource = this.source(url.pool, limits.statementTimeout);
  }

  rows(statement: Statement): Promise<Row[]> {
    return this.lend((connection) => rows(connection, statement));
  }

  async row(statement: Statement): Promise<Row | undefined> {
    return (await this.rows(statement))[0];
  }

  transaction<T>(script: () => Script<T>): Promise<T> {
    return this.lend(async (connection) => {
      await execute(connection, { sql: 'START TRANSACTION', values: [] });
      const result = await runScript(script(), (statement) => rows(connection, statement));
      await execute(connection, { sql: 'COMMIT', values: [] });
      return result;
    });
  }

  insertion<Entity extends object>(table: Table<Entity>, entities: readonly Partial<Entity>[]): Statement {
    const rows = entities.map((entity) => table.values(entity));
    return table.insert(table.given, rows);
  }

  async lastId({ name }: Table): Promise<bigint> {
    // What information_schema says of it may be a day old on MySQL.
    const [, made] = (await this.row({ sql: `SHOW CREATE TABLE ${name}`, values: [] })) as [string, string];
    return BigInt(/ AUTO_INCREMENT=(\d+)/.exec(made)?.[1] ?? 1) - 1n;
  }

  async continueIds({ name }: Table, above: bigint): Promise<void> {
    // InnoDB keeps it above all that there are.
    await this.rows({ sql: `ALTER TABLE ${name} AUTO_INCREMENT = ${above + 1n}`, values: [] });
  }

  schemaSource(): DataSource {
    return this.source(1, 0);
  }

  async lockSchema(runner: QueryRunner): Promise<void> {
    await runner.query(`SELECT GET_LOCK(CONCAT('petstore-schema-', MD5(DATABASE())), 86400)`);
  }

  failure(error: unknown): Failure | undefined {
    const { code, errno, fatal, message } = driverError(error);
    const lost = fatal === true || DISCONNECTED.test(String(code)) || message === 'Pool is closed.';
    return FAILURES.get(errno) ?? (lost ? 'unavailable' : undefined);
  }

  /** Lends a connection. After an error it is never used again: nobody knows what it was in the middle of. */
  private async lend<T>(use: (connection: PoolConnection) => Promise<T>): Promise<T> {
    const connection = await new Promise<PoolConnection>((resolve, reject) =>
      this.pool.getConnection((error, connection) => (error ? reject(error) : resolve(connection))),
    );
    try {
      const result = await use(connection);
      connection.release();
      return result;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }

  private source(poolSize: number, statementTimeout: number): DataSource {
    const { engine, tls } = this.url;
    const limits = { ...this.limits, statementTimeout };
    return new DataSource({
      ...serverOptions(this.url),
      type: engine as 'mysql' | 'mariadb',
      driver: { createPool: (options: PoolOptions) => limitedPool(options, limits) },
      poolSize,
      charset: 'utf8mb4_bin',
      connectTimeout: limits.poolTimeout,
      ...(tls && { ssl: tlsOptions(tls) }),
      extra: { maxPreparedStatements: MAX_STATEMENTS },
    });
  }

  private get pool(): Pool {
    return (this.dataSource.driver as unknown as { pool: Pool }).pool;
  }
}

/** Runs a statement and resolves to its rows; those of an INSERT are the ids that were generated. */
async function rows(connection: PoolConnection, statement: Statement): Promise<Row[]> {
  const result = await execute<Row[] | ResultSetHeader>(connection, statement);
  if (Array.isArray(result)) return result;
  const { insertId, affectedRows } = result;
  if (!insertId) return [];
  // If several servers share the writing, ids go up in steps.
  const step = { sql: 'SELECT @@auto_increment_increment', values: [] };
  const [[by = 1] = []] = affectedRows > 1 ? await execute<Row[]>(connection, step) : [];
  return Array.from({ length: affectedRows }, (_, i) => [BigInt(insertId) + BigInt(i) * BigInt(by as string)]);
}

function execute<T>(connection: PoolConnection, { sql, values }: Statement): Promise<T> {
  const typed = values.map((value) =>
    typeof value === 'bigint' || typeof value === 'number'
      ? mysql.TypedParameter.BIGINT(value)
      : (value as string | null),
  );
  return new Promise((resolve, reject) =>
    connection.execute({ sql, values: typed, rowsAsArray: true }, (error, result) =>
      error ? reject(error) : resolve(result as T),
    ),
  );
}

/** A pool in which neither a connection nor an answer is waited for without end. */
function limitedPool(options: PoolOptions, { poolTimeout, statementTimeout }: DatabaseLimits): Pool {
  const pool = mysql.createPool(options);
  const socketOf = (connection: PoolConnection) => (connection as unknown as { stream: Socket }).stream;
  pool.on('connection', (connection) => {
    breakWhenStill(socketOf(connection));
    for (const sql of SESSION) connection.query(sql, (error) => error && connection.destroy());
  });
  if (statementTimeout > 0) {
    pool.on('acquire', (connection) => answersDue(socketOf(connection), statementTimeout));
    pool.on('release', (connection) => nothingDue(socketOf(connection)));
  }
  const getConnection = pool.getConnection.bind(pool);
  pool.getConnection = (callback) => {
    let late = false;
    const timer = setTimeout(() => {
      late = true;
      const error = Object.assign(new Error('No connection to the database came free in time.'), { code: 'ETIMEDOUT' });
      callback(error, undefined as unknown as PoolConnection);
    }, poolTimeout);
    getConnection((error, connection) => {
      clearTimeout(timer);
      if (!late) callback(error, connection);
      else if (!error) connection.release();
    });
  };
  return pool;
}

function tlsOptions({ mode, ca }: Tls): PoolOptions['ssl'] & object {
  return { ca, rejectUnauthorized: mode !== 'require', verifyIdentity: mode === 'verify-full' };
}
