import { Socket } from 'node:net';
import mysql from 'mysql2';
import type { Pool, PoolConnection, PoolOptions, ResultSetHeader } from 'mysql2';
import { DataSource, QueryRunner } from 'typeorm';
import { IdempotencyInProgress } from '../../../../application/errors.js';
import { Added, MARK_LIFETIME, Once } from '../../../../application/pets/pet-repository.port.js';
import { NewPet } from '../../../../domain/pets/pet.js';
import { DatabaseLimits, ServerUrl, Tls } from '../../database-url.js';
import { dataSourceOptions } from '../data-source-options.js';
import { Row } from '../rows.js';
import {
  Addition,
  driverError,
  Engine,
  FIND_MARK,
  ListStatements,
  MARK_ATTEMPTS,
  replay,
  SELECT_PET,
} from './engine.js';
import { answersDue, breakWhenStill, nothingDue } from './standstill.js';

/** How long a statement waits for a lock, in seconds; for a mark that is, for the same mark of another instance. */
const LOCK_TIMEOUT = 2;

/** The most prepared statements kept on a connection; the server allows 16,382 to all of them. */
const MAX_STATEMENTS = 64;

const LISTS: ListStatements = {
  all: `${SELECT_PET} ORDER BY id DESC LIMIT ?`,
  allBelow: `${SELECT_PET} WHERE id < ? ORDER BY id DESC LIMIT ?`,
  ofStatus: `${SELECT_PET} FORCE INDEX (pet_status_id) WHERE status = ? ORDER BY id DESC LIMIT ?`,
  ofStatusBelow: `${SELECT_PET} FORCE INDEX (pet_status_id) WHERE status = ? AND id < ? ORDER BY id DESC LIMIT ?`,
};

const INSERT_PET = 'INSERT INTO pet (name, category_id, status) VALUES (?, ?, ?)';

const INSERT_MARK =
  'INSERT INTO idempotency_key (scope, token, fingerprint, pet_id, created_at) VALUES (?, ?, ?, ?, ?)';

const FORGET_MARK = 'DELETE FROM idempotency_key WHERE scope = ? AND token = ? AND created_at <= ?';

/** What a server, a database or an account may be set to makes no difference. */
const SESSION = `SET SESSION autocommit = 1, time_zone = '+00:00', innodb_lock_wait_timeout = ${LOCK_TIMEOUT},
  sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO'`;

const DUPLICATE = 1062;
const LOCK_WAIT_TIMEOUT = 1205;

/** Another transaction was in the way: a deadlock; a row that changed since it was read (MariaDB). */
const BUSY = new Set<unknown>([1213, 1020]);

/**
 * The errors of a server that are no fault of the question (https://mariadb.com/kb/en/mariadb-error-code-reference/): disk or memory
 * full, connections, authorisation, shutdown, network, no such database, killed, locks, read-only.
 */
const UNAVAILABLE = new Set<unknown>([
  1020, 1021, 1028, 1037, 1040, 1041, 1042, 1043, 1044, 1045, 1049, 1053, 1077, 1114, 1129, 1135, 1158, 1159, 1160,
  1161, 1203, 1205, 1213, 1226, 1290, 1317, 1698, 1792, 1836, 1927, 1969, 3024, 3159, 4031, 4151,
]);

/** MariaDB and MySQL. */
export class MysqlEngine implements Engine {
  readonly dataSource: DataSource;
  readonly lists = LISTS;
  readonly twinsWait = true;

  constructor(
    private readonly url: ServerUrl,
    private readonly limits: DatabaseLimits,
  ) {
    this.dataSource = this.source(url.pool, limits.statementTimeout);
  }

  async rows(sql: string, values: readonly unknown[]): Promise<Row[]> {
    return this.lend((connection) => execute<Row[]>(connection, sql, values));
  }

  async row(sql: string, values: readonly unknown[]): Promise<Row | undefined> {
    return (await this.rows(sql, values))[0];
  }

  async addPets(additions: readonly Addition[]): Promise<(Added | Error)[]> {
    const [addition] = additions;
    if (addition?.once) return [await this.addOnce(addition.pet, addition.once)];
    const pets = additions.map(({ pet }) => pet);
    const ids = await this.lend((connection) => insert(connection, pets));
    return pets.map((pet, i) => ({ pet: { id: ids[i] as bigint, ...pet }, replayed: false }));
  }

  async forgetMarks(before: string, most: number): Promise<number> {
    const sql = 'DELETE FROM idempotency_key WHERE created_at < ? ORDER BY created_at LIMIT ?';
    return this.lend(
      async (connection) => (await execute<ResultSetHeader>(connection, sql, [before, most])).affectedRows,
    );
  }

  async continueIds(): Promise<void> {
    // An id that is given moves the counter on.
  }

  schemaSource(): DataSource {
    return this.source(1, 0);
  }

  async lockSchema(runner: QueryRunner): Promise<void> {
    await runner.query(`SELECT GET_LOCK(CONCAT('petstore-schema-', MD5(DATABASE())), 86400)`);
  }

  isUnavailable(error: unknown): boolean {
    const { code, errno, message } = driverError(error) as { code?: string; errno?: unknown; message?: string };
    return (
      (driverError(error) as { fatal?: boolean }).fatal === true ||
      UNAVAILABLE.has(errno) ||
      /^E[A-Z]{3,}$|^PROTOCOL_|^HANDSHAKE_|CERT|^ERR_(TLS|SSL|OSSL)|^UNABLE_TO/.test(code ?? '') ||
      message === 'Pool is closed.'
    );
  }

  isBusy(error: unknown): boolean {
    return BUSY.has(driverError(error).errno);
  }

  revision(): undefined {
    return undefined;
  }

  private async addOnce(pet: NewPet, once: Once): Promise<Added | Error> {
    const since = new Date(once.at.getTime() - MARK_LIFETIME).toISOString();
    try {
      for (let attempt = 0; attempt < MARK_ATTEMPTS; attempt++) {
        const found = await this.row(FIND_MARK, [once.scope, once.key, since]);
        if (found) return replay(found, once);
        const id = await this.lend((connection) => insertOnce(connection, pet, once));
        if (id !== undefined) return { pet: { id, ...pet }, replayed: false };
        await this.rows(FORGET_MARK, [once.scope, once.key, since]);
      }
    } catch (error) {
      if (driverError(error).errno !== LOCK_WAIT_TIMEOUT) throw error;
    }
    return new IdempotencyInProgress();
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
    const { engine, host, port, user, password, database, tls } = this.url;
    const limits = { ...this.limits, statementTimeout };
    return new DataSource({
      ...dataSourceOptions,
      type: engine as 'mysql' | 'mariadb',
      driver: { createPool: (options: PoolOptions) => limitedPool(options, limits) },
      host,
      port,
      username: user,
      password,
      database,
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

/** Inserts the animals in one statement, and resolves to their ids. */
async function insert(connection: PoolConnection, pets: readonly NewPet[]): Promise<bigint[]> {
  // Where several servers share the writing, ids go up in steps.
  const [[step = 1] = []] =
    pets.length > 1 ? await execute<Row[]>(connection, 'SELECT @@auto_increment_increment', []) : [];
  const sql = INSERT_PET + ', (?, ?, ?)'.repeat(pets.length - 1);
  const values = pets.flatMap(({ name, categoryId, status }) => [name, categoryId, status]);
  const { insertId } = await execute<ResultSetHeader>(connection, sql, values);
  return pets.map((_pet, i) => BigInt(insertId) + BigInt(i) * BigInt(step as string));
}

/** Inserts animal and mark, and resolves to the animal's id; to undefined, and inserts neither, where the mark is there. */
async function insertOnce(connection: PoolConnection, pet: NewPet, once: Once): Promise<bigint | undefined> {
  await execute(connection, 'START TRANSACTION', []);
  try {
    const [id] = (await insert(connection, [pet])) as [bigint];
    await execute(connection, INSERT_MARK, [once.scope, once.key, once.fingerprint, id, once.at.toISOString()]);
    await execute(connection, 'COMMIT', []);
    return id;
  } catch (error) {
    if (driverError(error).errno !== DUPLICATE) throw error;
    await execute(connection, 'ROLLBACK', []);
    return undefined;
  }
}

function execute<T>(connection: PoolConnection, sql: string, values: readonly unknown[]): Promise<T> {
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
    connection.query(SESSION, (error) => error && connection.destroy());
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
