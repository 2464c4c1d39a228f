import mysql from 'mysql2';
import type { PoolConnection, PoolOptions, ResultSetHeader } from 'mysql2';
import { DataSource, QueryRunner } from 'typeorm';
import { fail, Finding, ok, warn, words } from '../../../../application/finding.js';
import { within } from '../../../../application/within.js';
import { DatabaseLimits, Host, ServerUrl, Tls } from '../../database-url.js';
import { serverOptions } from '../data-source-options.js';
import { INT64_MAX } from '../../../../domain/int64.js';
import { names, Row, Statement, Table } from '../table.js';
import {
  driverError,
  Engine,
  Failure,
  isOfServer,
  POOLS,
  PoolState,
  runScript,
  Script,
  ServerState,
  shares,
  Together,
} from './engine.js';
import { greet, LimitedPool, limitedPool, NONE_FREE, NOT_PRIMARY, writing } from './mysql-pool.js';
import { Primary, ROLE_TIMEOUT } from './primary.js';

/** The most prepared statements kept on a connection; the server allows 16,382 to all of them. */
const MAX_STATEMENTS = 64;

/** What the largest statement of the service may need of `max_allowed_packet`, in bytes: 500 rows of a copy, of 1,050 bytes each. */
const LARGEST_PACKET = 1_048_576;

/** How many bytes a value takes at the most beside its text. */
const VALUE_SIZE = 12;

/** TypeORM's table of what was applied, with names that are unique. */
const GALERA_MIGRATIONS = `CREATE TABLE IF NOT EXISTS migrations
  (id INT AUTO_INCREMENT PRIMARY KEY, timestamp BIGINT NOT NULL, name VARCHAR(255) NOT NULL UNIQUE)`;

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
  'max_allowed_packet',
] as const;

/**
 * The errors of a server that are no fault of the question (https://mariadb.com/kb/en/mariadb-error-code-reference/): disk or memory
 * full, connections, authorisation, shutdown, network, no such database, killed, read-only.
 */
const UNAVAILABLE = [
  1021, 1028, 1037, 1040, 1041, 1042, 1043, 1044, 1045, 1049, 1114, 1129, 1135, 1142, 1143, 1158, 1159, 1160, 1161,
  1203, 1226, 1290, 1317, 1461, 1698, 1792, 1836, 1969, 3024, 3159, 4031, 4151,
];

const FAILURES = new Map<unknown, Failure>([
  ...UNAVAILABLE.map((errno) => [errno, 'unavailable'] as const),
  // A row that changed since it was read (MariaDB), and a deadlock.
  [1020, 'busy'],
  [1213, 'busy'],
  [1205, 'locked'],
  [1062, 'duplicate'],
  // A table, a column and an index.
  [1050, 'duplicate'],
  [1060, 'duplicate'],
  [1061, 'duplicate'],
  // A server that shuts down, and a connection that was killed.
  [1053, 'lost'],
  [1077, 'lost'],
  [1927, 'lost'],
  // Galera: the node has left its cluster; and a commit that the cluster may not have taken.
  [1047, 'lost'],
  [1180, 'lost'],
]);

/** What the driver and Node say of a connection. */
const DISCONNECTED = /^E[A-Z]{3,}$|^PROTOCOL_|^HANDSHAKE_|CERT|^ERR_(TLS|SSL|OSSL)|^UNABLE_TO/;

/** How a statement begins that inserts several rows, whose ids it does not return. */
const SEVERAL_ROWS = /^INSERT [^)]*\) VALUES \([^)]*\), (?!.* RETURNING )/;

/** MariaDB has no LATERAL: the number of questions is part of the text, and is a power of two, so that few texts are prepared. */
const TOGETHER: Together = {
  find: ({ name, key, select }, ids) => {
    const asked = upToPowerOfTwo(ids, (last) => last);
    const places = asked.map(() => '?').join(', ');
    return {
      sql: `SELECT ${select} FROM ${name} FORCE INDEX (PRIMARY) WHERE ${names(key)} IN (${places})`,
      values: asked,
    };
  },
  walkDown: (table, walks) => {
    const id = names(table.key);
    const asked = upToPowerOfTwo(walks, (last) => ({ ...last, limit: 0 }));
    const parts = asked.map(({ where, before, limit }, place) => {
      const { column, index, value } = table.filter(where);
      const [hint, filter] = value === undefined ? ['PRIMARY', ''] : [index, `${column} = ? AND `];
      return {
        sql: `(SELECT ${table.select}, ${place} FROM ${table.name} FORCE INDEX (${hint})
          WHERE ${filter}${id} <= ? ORDER BY ${id} DESC LIMIT ?)`,
        values: [...(filter ? [value] : []), before === undefined ? INT64_MAX : before - 1n, limit],
      };
    });
    return { sql: parts.map(({ sql }) => sql).join(' UNION ALL '), values: parts.flatMap(({ values }) => values) };
  },
};

/** MariaDB and MySQL. */
export class MysqlEngine implements Engine {
  readonly dataSource: DataSource;
  readonly readSource: DataSource;
  readonly concurrentWriters = true;
  readonly writesInWith = false;
  readonly together = TOGETHER;
  readonly indexHint = (index: string) => `FORCE INDEX (${index})`;
  private readonly primary: Primary;

  /** `looking` is for who changes nothing, and takes a server that is read-only too. */
  constructor(
    private readonly url: ServerUrl,
    private readonly limits: DatabaseLimits,
    private readonly looking = false,
  ) {
    this.primary = new Primary(
      url.hosts,
      (host) => this.askForRole(host),
      () => [this.dataSource, this.readSource].map(poolOf).filter((pool) => pool !== undefined),
    );
    const { writers, readers } = shares(url.pool);
    this.dataSource = this.source(writers, limits.statementTimeout);
    this.readSource = this.source(readers, limits.statementTimeout);
  }

  rows(statement: Statement): Promise<Row[]> {
    return this.lend(this.readSource, (connection) => rows(connection, statement));
  }

  write(statement: Statement): Promise<Row[]> {
    return this.lend(this.dataSource, (connection) => rows(connection, statement));
  }

  async row(statement: Statement): Promise<Row | undefined> {
    return (await this.rows(statement))[0];
  }

  transaction<T>(script: () => Script<T>): Promise<T> {
    return this.lend(this.dataSource, async (connection) => {
      await execute(connection, { sql: 'START TRANSACTION', values: [] });
      const result = await runScript(script(), (statement) => rows(connection, statement));
      await execute(connection, { sql: 'COMMIT', values: [] });
      return result;
    });
  }

  insertion<Entity extends object>(table: Table<Entity>, entities: readonly Partial<Entity>[]): Statement {
    const rows = entities.map((entity) => table.values(entity));
    // The server would end the connection while it is being sent, often so that its error gets lost.
    if (rows.length > 1 && sizeOf(rows.flat()) > (poolOf(this.dataSource)?.maxPacket() ?? Infinity))
      throw new Error('The rows do not fit into one packet.');
    const insert = table.insert(table.given, rows);
    // MySQL cannot return rows.
    return this.url.engine === 'mariadb' ? { ...insert, sql: `${insert.sql} RETURNING ${names(table.key)}` } : insert;
  }

  async lastId({ name }: Table): Promise<bigint> {
    // What information_schema says of it may be a day old on MySQL.
    const [, made] = (await this.row({ sql: `SHOW CREATE TABLE ${name}`, values: [] })) as [string, string];
    return BigInt(/ AUTO_INCREMENT=(\d+)/.exec(made)?.[1] ?? 1) - 1n;
  }

  async continueIds({ name }: Table, above: bigint): Promise<void> {
    // InnoDB keeps it above all that there are.
    await this.write({ sql: `ALTER TABLE ${name} AUTO_INCREMENT = ${above + 1n}`, values: [] });
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
      writing(settings.read_only),
      flush !== '1'
        ? fail('durability', `${durability}: a 201 is not on disk.`, 'innodb_flush_log_at_trx_commit must be 1.')
        : log_bin === '1' && sync_binlog !== '1'
          ? warn('durability', `${durability}: a crash can lose part of the binary log.`, 'sync_binlog should be 1.')
          : !/^(?:1|ON|DETECT_AND_RECOVER)$/.test(twice)
            ? warn('durability', `${durability}: a crash can tear pages.`, 'innodb_doublewrite should be on.')
            : ok('durability', durability),
      Number(settings.max_allowed_packet) < LARGEST_PACKET
        ? warn(
            'packets',
            `max_allowed_packet=${settings.max_allowed_packet}: many pets are not stored together, and a copy may fail.`,
            `max_allowed_packet should be ${LARGEST_PACKET} at the least.`,
          )
        : ok('packets', `max_allowed_packet=${settings.max_allowed_packet}`),
    ];
  }

  async astray(): Promise<string | undefined> {
    const [readOnly] = (await this.row({ sql: 'SELECT @@global.read_only', values: [] })) as [unknown];
    const found = writing(String(readOnly));
    if (found.state === 'ok') return undefined;
    this.primary.seek();
    return words(found);
  }

  pools(): PoolState[] {
    return POOLS.map((pool) => {
      const state = poolOf(this.sourceOf(pool))?.state();
      return { pool, used: 0, idle: 0, waiting: 0, ...state };
    });
  }

  tellWaits(tell: (pool: PoolState['pool'], duration: number) => void): void {
    for (const pool of POOLS) poolOf(this.sourceOf(pool))?.tellWaits((duration) => tell(pool, duration));
  }

  /** A primary does not know how far its replicas are behind. */
  async serverState(): Promise<ServerState> {
    try {
      await this.askForRole(this.primary.host);
      return { role: 'primary', standbys: [] };
    } catch (error) {
      if (driverError(error).code !== NOT_PRIMARY) throw error;
      return { role: 'standby', standbys: [] };
    }
  }

  locate(): Promise<void> {
    return this.primary.find();
  }

  schemaSource(): DataSource {
    return this.source(1, 0);
  }

  async lockSchema(runner: QueryRunner): Promise<void> {
    await runner.query(`SELECT GET_LOCK(CONCAT('petstore-schema-', MD5(DATABASE())), 86400)`);
    const [wsrep] = (await runner.query(`SHOW VARIABLES LIKE 'wsrep_on'`)) as [{ Value: string }?];
    // That lock holds on this node. On the others the same step ends with what is there already, and is not written down twice.
    if (wsrep?.Value === 'ON') await runner.query(GALERA_MIGRATIONS);
  }

  failure(error: unknown): Failure | undefined {
    const { code, errno, fatal, message } = driverError(error);
    const lost = fatal === true || DISCONNECTED.test(String(code)) || message === 'Pool is closed.';
    if (code === NONE_FREE) return 'unavailable';
    return FAILURES.get(errno) ?? (lost ? 'lost' : undefined);
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
  private async lend<T>(source: DataSource, use: (connection: PoolConnection) => Promise<T>): Promise<T> {
    try {
      const connection = await new Promise<PoolConnection>((resolve, reject) =>
        poolOf(source)!.getConnection((error, connection) => (error ? reject(error) : resolve(connection))),
      );
      try {
        const result = await use(connection);
        connection.release();
        return result;
      } catch (error) {
        connection.destroy();
        throw error;
      }
    } catch (error) {
      if (isOfServer(this.failure(error))) this.primary.seek();
      throw error;
    }
  }

  /** Rejects if this host is not the primary. */
  private async askForRole({ host, port }: Host): Promise<void> {
    const { user, password, database, tls } = this.url;
    const ssl = tls && tlsOptions(tls);
    const connection = mysql.createConnection({
      host,
      port,
      user,
      password,
      database,
      ssl,
      connectTimeout: ROLE_TIMEOUT,
    });
    connection.on('error', () => undefined);
    const late = setTimeout(() => connection.destroy(), ROLE_TIMEOUT);
    try {
      await within(ROLE_TIMEOUT, greet(connection, false), () =>
        Object.assign(new Error(`${host}:${port} did not answer in time.`), { code: 'ETIMEDOUT' }),
      );
    } finally {
      clearTimeout(late);
      connection.destroy();
    }
  }

  private sourceOf(pool: PoolState['pool']): DataSource {
    return pool === 'read' ? this.readSource : this.dataSource;
  }

  private source(poolSize: number, statementTimeout: number): DataSource {
    const { engine, hosts, tls } = this.url;
    const limits = { ...this.limits, statementTimeout };
    const roles = { readOnlyToo: this.looking, askEachTime: !this.looking && hosts.length > 1 };
    return new DataSource({
      ...serverOptions(this.url, this.primary.host),
      type: engine as 'mysql' | 'mariadb',
      driver: {
        createPool: (options: PoolOptions) => limitedPool({ ...options, ...this.primary.host }, limits, roles),
      },
      poolSize,
      charset: 'utf8mb4_bin',
      connectTimeout: limits.poolTimeout,
      ...(tls && { ssl: tlsOptions(tls) }),
      extra: { maxPreparedStatements: MAX_STATEMENTS },
    });
  }
}

/** Questions, with as many more made of the last one as are missing to a power of two. */
function upToPowerOfTwo<Question>(questions: readonly Question[], more: (last: Question) => Question): Question[] {
  const all = [...questions];
  const last = more(questions.at(-1)!);
  while ((all.length & (all.length - 1)) !== 0) all.push(last);
  return all;
}

function poolOf({ driver }: DataSource): LimitedPool | undefined {
  return (driver as unknown as { pool?: LimitedPool }).pool;
}

/** Runs a statement and resolves to its rows; those of an INSERT are the ids that were generated. */
async function rows(connection: PoolConnection, statement: Statement): Promise<Row[]> {
  // If several servers share the writing, ids go up in steps. Asked before: behind an INSERT that is committed by itself nothing may fail, or it
  // would be done once more.
  const step = { sql: 'SELECT @@auto_increment_increment', values: [] };
  const [[by = 1] = []] = SEVERAL_ROWS.test(statement.sql) ? await execute<Row[]>(connection, step) : [];
  const result = await execute<Row[] | ResultSetHeader>(connection, statement);
  if (Array.isArray(result)) return result;
  const { insertId, affectedRows } = result;
  if (!insertId) return [];
  return Array.from({ length: affectedRows }, (_, i) => [BigInt(insertId) + BigInt(i) * BigInt(by as string)]);
}

/** How many bytes a packet with these values has at the most. */
function sizeOf(values: Row): number {
  return values.reduce<number>(
    (size, value) => size + VALUE_SIZE + (typeof value === 'string' ? Buffer.byteLength(value) : 0),
    VALUE_SIZE,
  );
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

function tlsOptions({ mode, ca }: Tls): PoolOptions['ssl'] & object {
  return { ca, rejectUnauthorized: mode !== 'require', verifyIdentity: mode === 'verify-full' };
}
