import { Socket } from 'node:net';
import mysql from 'mysql2';
import type { Pool, PoolConnection, PoolOptions, ResultSetHeader } from 'mysql2';
import { DataSource, QueryRunner } from 'typeorm';
import { fail, Finding, ok, warn } from '../../../../application/finding.js';
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

/** Collations that compare byte for byte. */
const EXACT = /^utf8mb4_(?:nopad|0900)_bin$/;

/** The variables of a server that are inspected. */
const INSPECTED = [
  'version',
  'version_comment',
  'read_only',
  'innodb_flush_log_at_trx_commit',
  'log_bin',
  'sync_binlog',
  'innodb_doublewrite',
] as const;

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

  async encoding(): Promise<Finding> {
    const sessions = ['character_set_client', 'character_set_connection', 'character_set_results'] as const;
    const settings = await this.variables(sessions);
    const wrong = sessions.find((name) => settings[name] !== 'utf8mb4');
    if (wrong) {
      const found = `${wrong} is ${settings[wrong]}, which cannot hold every name exactly.`;
      return fail('encoding', found, 'The connection must have utf8mb4, as the service asks for.');
    }
    const tables = this.dataSource.entityMetadatas.map(({ tablePath }) => tablePath);
    const columns = (await this.rows({
      sql: `SELECT CONCAT(table_name, '.', column_name), character_set_name, collation_name FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name IN (${tables.map(() => '?').join(', ')})
        AND character_set_name IS NOT NULL ORDER BY 1`,
      values: tables,
    })) as [name: string, charset: string, collation: string][];
    const other = columns.find(([, charset]) => charset !== 'utf8mb4');
    if (other) {
      const found = `The column ${other[0]} has the character set ${other[1]}, which cannot hold every name exactly.`;
      return fail('encoding', found, 'It must be utf8mb4, with the collation that the migrations gave it.');
    }
    const loose = columns.find(([, , collation]) => !EXACT.test(collation));
    if (loose) {
      const found = `The column ${loose[0]} has the collation ${loose[2]}, which takes different texts for the same.`;
      return warn('encoding', found, 'It should be utf8mb4_nopad_bin on MariaDB, utf8mb4_0900_bin on MySQL.');
    }
    return ok('encoding', 'utf8mb4');
  }

  async inspect(): Promise<Finding[]> {
    const settings = await this.variables(INSPECTED);
    const { innodb_flush_log_at_trx_commit: flush, log_bin, sync_binlog, innodb_doublewrite: twice } = settings;
    const binlog = log_bin === '1' ? `, sync_binlog=${sync_binlog}` : ', no binary log';
    const durability = `innodb_flush_log_at_trx_commit=${flush}${binlog}, innodb_doublewrite=${twice}`;
    return [
      ok('version', `${settings.version_comment} ${settings.version}`),
      /^(?:0|OFF)$/.test(settings.read_only)
        ? ok('writing', 'a primary that can be written')
        : fail(
            'writing',
            `The server is read-only (read_only=${settings.read_only}).`,
            'DATABASE_URL must lead to the primary, with read_only off.',
          ),
      flush !== '1'
        ? fail('durability', `${durability}: a 201 is not on disk.`, 'innodb_flush_log_at_trx_commit must be 1.')
        : log_bin === '1' && sync_binlog !== '1'
          ? warn('durability', `${durability}: a crash can lose part of the binary log.`, 'sync_binlog should be 1.')
          : !/^(?:1|ON|DETECT_AND_RECOVER)$/.test(twice)
            ? warn('durability', `${durability}: a crash can tear pages.`, 'innodb_doublewrite should be on.')
            : ok('durability', durability),
    ];
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

  /** Variables of the server by name, as they are for a session of the service. */
  private async variables<Name extends string>(names: readonly Name[]): Promise<Record<Name, string>> {
    const values = (await this.row({
      sql: `SELECT ${names.map((name) => `@@${name}`).join(', ')}`,
      values: [],
    })) as Row;
    return Object.fromEntries(names.map((name, i) => [name, String(values[i])])) as Record<Name, string>;
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
