import { Socket } from 'node:net';
import pg from 'pg';
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

/** How long a statement waits for a lock, in milliseconds; for a mark that is, for the same mark of another instance. */
const LOCK_TIMEOUT = 2_000;

/** What tells the lock on the schema from the locks of others in the same database. */
const SCHEMA_LOCK = 1_795_132_800;

/** How long an unused connection is kept, in milliseconds. */
const IDLE_TIMEOUT = 300_000;

/**
 * The ids of a list by status come from the one index that has them in order: with a plain `status = $1` the planner may walk all
 * animals in place of those few. A comparison of pairs it can only take from the index of pairs.
 */
const LISTS: ListStatements = {
  all: `${SELECT_PET} ORDER BY id DESC LIMIT $1`,
  allBelow: `${SELECT_PET} WHERE id < $1 ORDER BY id DESC LIMIT $2`,
  ofStatus: `${SELECT_PET} WHERE status >= $1 AND status <= $1 ORDER BY status DESC, id DESC LIMIT $2`,
  ofStatusBelow: `${SELECT_PET} WHERE status >= $1 AND (status, id) < ($1, $2) ORDER BY status DESC, id DESC LIMIT $3`,
};

const INSERT_PETS = `INSERT INTO pet (name, category_id, status)
  SELECT name, category_id, status
  FROM unnest($1::text[], $2::bigint[], $3::text[]) WITH ORDINALITY AS new (name, category_id, status, place)
  ORDER BY place RETURNING id`;

/** Stores mark and animal both; neither, and returns no row, where the mark is there and counts. Then no id is used up either. */
const INSERT_ONCE = `WITH mark AS (
    INSERT INTO idempotency_key AS kept (scope, token, fingerprint, pet_id, created_at)
    SELECT $1::varchar, $2::varchar, $3, nextval(pg_get_serial_sequence('pet', 'id')), $4
    WHERE NOT EXISTS (SELECT FROM idempotency_key WHERE scope = $1::varchar AND token = $2::varchar AND created_at > $5::varchar)
    ON CONFLICT (scope, token) DO UPDATE
    SET fingerprint = excluded.fingerprint, pet_id = excluded.pet_id, created_at = excluded.created_at
    WHERE kept.created_at <= $5::varchar
    RETURNING pet_id)
  INSERT INTO pet (id, name, category_id, status)
  SELECT pet_id, $6, $7::bigint, $8 FROM mark RETURNING id`;

const FORGET_MARKS = `WITH forgotten AS (
    DELETE FROM idempotency_key WHERE (scope, token) IN
      (SELECT scope, token FROM idempotency_key WHERE created_at < $1 ORDER BY created_at LIMIT $2)
    RETURNING 1)
  SELECT count(*) FROM forgotten`;

/** An answer of 201 says that the animal is on disk, whatever the database is set to. */
const SESSION = `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'`;

/**
 * The SQLSTATEs that are no fault of the question (https://www.postgresql.org/docs/current/errcodes-appendix.html): connection,
 * authorisation, catalogue name, rollback, resources, intervention and system errors, lock not available, read-only transaction.
 */
const UNAVAILABLE = /^(08|28|3D|40|53|57|58)...$|^55P03$|^25006$/;

/** What the driver and Node say without a SQLSTATE. */
const DISCONNECTED =
  /^(Connection terminated|timeout exceeded|Client has encountered|Cannot use a pool|The server does not support SSL)/;

/** PostgreSQL, and what speaks as it does. Every operation of the service is one round trip. */
export class PostgresEngine implements Engine {
  readonly dataSource: DataSource;
  readonly lists = LISTS;
  readonly twinsWait = true;
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

  async rows(sql: string, values: readonly unknown[]): Promise<Row[]> {
    const query = { ...this.statement(sql), values: [...values], rowMode: 'array' };
    return (await this.pool.query<Row & unknown[]>(query)).rows;
  }

  async row(sql: string, values: readonly unknown[]): Promise<Row | undefined> {
    return (await this.rows(sql, values))[0];
  }

  async addPets(additions: readonly Addition[]): Promise<(Added | Error)[]> {
    const [addition] = additions;
    if (addition?.once) return [await this.addOnce(addition.pet, addition.once)];
    const pets = additions.map(({ pet }) => pet);
    const rows = await this.rows(INSERT_PETS, [
      pets.map(({ name }) => name),
      pets.map(({ categoryId }) => categoryId),
      pets.map(({ status }) => status),
    ]);
    return pets.map((pet, i) => ({ pet: { id: BigInt((rows[i] as [string])[0]), ...pet }, replayed: false }));
  }

  async forgetMarks(before: string, most: number): Promise<number> {
    const [row] = await this.rows(FORGET_MARKS, [before, most]);
    return Number(row?.[0]);
  }

  async continueIds(): Promise<void> {
    await this.rows(
      `SELECT setval(pg_get_serial_sequence('pet', 'id'), GREATEST(max(id), 1), max(id) >= 1) FROM pet HAVING count(*) > 0`,
      [],
    );
  }

  schemaSource(): DataSource {
    return this.source(1, {});
  }

  async lockSchema(runner: QueryRunner): Promise<void> {
    await runner.query('SELECT pg_advisory_xact_lock($1)', [SCHEMA_LOCK]);
  }

  isUnavailable(error: unknown): boolean {
    const { code, message } = driverError(error);
    if (typeof code === 'string')
      return UNAVAILABLE.test(code) || /^E[A-Z]{3,}|CERT|^ERR_(TLS|SSL|OSSL)|^UNABLE_TO/.test(code);
    return typeof message === 'string' && DISCONNECTED.test(message);
  }

  isBusy(error: unknown): boolean {
    const { code } = driverError(error);
    return code === '40001' || code === '40P01';
  }

  revision(): undefined {
    return undefined;
  }

  private async addOnce(pet: NewPet, once: Once): Promise<Added | Error> {
    const since = new Date(once.at.getTime() - MARK_LIFETIME).toISOString();
    const mark = [once.scope, once.key, once.fingerprint, once.at.toISOString(), since];
    try {
      for (let attempt = 0; attempt < MARK_ATTEMPTS; attempt++) {
        const [row] = await this.rows(INSERT_ONCE, [...mark, pet.name, pet.categoryId, pet.status]);
        if (row) return { pet: { id: BigInt(row[0] as string), ...pet }, replayed: false };
        const [found] = await this.rows(FIND_MARK, [once.scope, once.key, since]);
        if (found) return replay(found, once);
      }
    } catch (error) {
      if (driverError(error).code !== '55P03') throw error;
    }
    return new IdempotencyInProgress();
  }

  private source(poolSize: number, limits: pg.PoolConfig): DataSource {
    const { host, port, user, password, database, tls } = this.url;
    return new DataSource({
      ...dataSourceOptions,
      type: 'postgres',
      driver: { Pool: LimitedPool },
      host,
      port,
      username: user,
      password,
      database,
      poolSize,
      installExtensions: false,
      applicationName: 'petstore',
      extra: { ...limits, ssl: tls ? tlsOptions(tls) : false, keepAlive: true, idleTimeoutMillis: IDLE_TIMEOUT },
    });
  }

  private get pool(): pg.Pool {
    return (this.dataSource.driver as unknown as { master: pg.Pool }).master;
  }

  private statement(sql: string): { name: string; text: string } {
    let statement = this.statements.get(sql);
    if (!statement) {
      let place = 0;
      statement = { name: `petstore_${this.statements.size}`, text: sql.replace(/\?/g, () => `$${++place}`) };
      this.statements.set(sql, statement);
    }
    return statement;
  }
}

/** A pool whose connections are broken where a statement takes longer than it may. */
class LimitedPool extends pg.Pool {
  constructor(options: pg.PoolConfig) {
    const limit = Number(options.statement_timeout) || 0;
    super({
      ...options,
      onConnect: (client) => {
        breakWhenStill(socketOf(client));
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
