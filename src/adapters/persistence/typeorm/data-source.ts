import { randomUUID } from 'node:crypto';
import type { SecureVersion } from 'node:tls';
import Libsql from 'libsql';
import type { Client } from 'pg';
import { DataSource, DataSourceOptions, QueryFailedError } from 'typeorm';
import { UsageError } from '../../../messages/usage-error.js';
import { createDatabaseFile } from '../sqlite-file.js';
import { POOL_TIMEOUT, withTimeout } from '../timeout.js';
import { PersistentUrl, Tls } from '../../../settings/database-url.js';
import { DIALECTS } from './dialects/dialects.js';
import { asConnectFailure, failureMessage, failureOf, isAboutEncryption } from './failures.js';
import { ApiKeySchema, KeyUseSchema } from './keys/api-key.schema.js';
import { CreateTables1795132800000 } from './migrations/1795132800000-create-tables.js';
import { UniqueKeyNames1795651200000 } from './migrations/1795651200000-unique-key-names.js';
import { AddRequests1795824000000 } from './migrations/1795824000000-add-requests.js';
import { MoveIdempotencyKeys1795824001000 } from './migrations/1795824001000-move-idempotency-keys.js';
import { petSchema } from './pets/pet-table.js';

/** How long a statement of a command waits for the lock of another process on a SQLite file, in milliseconds. */
export const SQLITE_TIMEOUT = 5_000;

/**
 * After which silence of a server TCP probes it, in milliseconds: by default two hours, in which a gateway may have
 * forgotten the connection, or the server's machine may have vanished.
 */
const KEEP_ALIVE_DELAY = 10_000;

/** The options of a DataSource and, if the server may demand or lack encryption, those to try next. */
export type Attempts = readonly [DataSourceOptions, DataSourceOptions?];

/** The options of a DataSource for the database at a URL. The timeout is in milliseconds. */
export function dataSourceOptions(url: PersistentUrl, poolSize = 1, statementTimeout?: number): Attempts {
  const tls = url.engine === 'sqlite' ? undefined : url.tls;
  const plain = optionsOf(url, undefined, poolSize, statementTimeout);
  if (!tls) return [plain];
  const encrypted = optionsOf(url, tls, poolSize, statementTimeout);
  if (tls.mode === 'allow') return [plain, encrypted];
  return tls.mode === 'prefer' ? [encrypted, plain] : [encrypted];
}

function optionsOf(url: PersistentUrl, tls: Tls | undefined, poolSize: number, timeout?: number): DataSourceOptions {
  const common = {
    entities: [petSchema(url.engine), ApiKeySchema, KeyUseSchema],
    migrations: [
      CreateTables1795132800000,
      UniqueKeyNames1795651200000,
      AddRequests1795824000000,
      MoveIdempotencyKeys1795824001000,
    ],
    // Its default logger prints slow statements even if logging is off.
    logger: 'debug' as const,
  };
  if (url.engine === 'sqlite') {
    return {
      ...common,
      type: 'better-sqlite3',
      driver: Libsql,
      database: url.file,
      timeout: SQLITE_TIMEOUT,
      prepareDatabase: (database: Libsql.Database) => {
        database.pragma('synchronous = FULL');
        // Truncates the log to 64 MiB after a checkpoint: a long read of another program lets it grow.
        database.pragma('journal_size_limit = 67108864');
        database.defaultSafeIntegers();
      },
    };
  }
  const { host, port, user: username, password, database, connectTimeout = POOL_TIMEOUT, parameters } = url;
  const { mode, ...files } = tls ?? {};
  const secure = { ...files, rejectUnauthorized: mode === 'verify-ca' || mode === 'verify-full' };
  const server = { ...common, host, port, username, password, database, poolSize };
  if (url.engine === 'postgres') {
    return {
      ...server,
      type: 'postgres',
      // If the server asks for a password that is absent, pg never closes the connection. A wrong one is rejected.
      password: password || randomUUID(),
      ssl: tls !== undefined && {
        ...secure,
        ...(mode === 'verify-ca' && { checkServerIdentity: () => undefined }),
        minVersion: parameters.ssl_min_protocol_version as SecureVersion,
        maxVersion: parameters.ssl_max_protocol_version as SecureVersion,
        passphrase: parameters.sslpassword,
      },
      applicationName: parameters.application_name || parameters.fallback_application_name || 'petstore',
      extra: {
        options: parameters.options,
        enableChannelBinding: parameters.channel_binding !== undefined && parameters.channel_binding !== 'disable',
        // Not left out, so that PGSSLNEGOTIATION has no effect.
        sslnegotiation: parameters.sslnegotiation ?? 'postgres',
        connectionTimeoutMillis: connectTimeout,
        query_timeout: timeout,
        keepAlive: parameters.keepalives !== '0',
        keepAliveInitialDelayMillis: Number(parameters.keepalives_idle ?? 0) * 1_000 || KEEP_ALIVE_DELAY,
        // Five minutes, not ten seconds: after a pause no client waits for a new connection.
        idleTimeoutMillis: 300_000,
        // Nothing else handles the errors of a new connection until TypeORM has it: one would end the process.
        onConnect: (client: Client) => client.on('error', () => undefined),
      },
    };
  }
  return {
    ...server,
    type: 'mariadb',
    charset: 'utf8mb4_bin',
    ...(host.startsWith('/') && { socketPath: host }),
    connectTimeout,
    // With it, TypeORM passes the next one to mysql2 as the timeout of a query.
    enableQueryTimeout: timeout !== undefined,
    maxQueryExecutionTime: timeout,
    extra: { keepAliveInitialDelay: KEEP_ALIVE_DELAY },
    ...(tls && { ssl: { ...secure, verifyIdentity: mode === 'verify-full' } }),
  };
}

/** Whether these options are of connections that are encrypted. */
export function isEncrypted(options: DataSourceOptions): boolean {
  return 'ssl' in options && Boolean(options.ssl);
}

/** Runs work with an initialized DataSource, and closes it. */
export async function withDataSource<T>(options: Attempts, work: (source: DataSource) => Promise<T>): Promise<T> {
  const source = await openDataSource(options);
  try {
    return await work(source);
  } finally {
    await untilClosed(source.destroy());
  }
}

/** Waits at most 3 seconds until connections are closed: mysql2 would wait for a statement that is never answered. */
export function untilClosed(closed: Promise<void>): Promise<void> {
  return withTimeout(POOL_TIMEOUT, closed).catch(() => undefined);
}

/**
 * Initializes a DataSource, runs these statements, and closes what is open if that fails. A new one for each attempt:
 * mysql2 ends the pool of a failed attempt when its last statement is answered, and TypeORM then drops any pool of that
 * DataSource. So the server's encryption is found out once, not whenever the pool opens another connection.
 */
export async function openDataSource([options, next]: Attempts, ...statements: string[]): Promise<DataSource> {
  const source = new DataSource(options);
  try {
    await asConnectFailure(source.initialize());
    for (const statement of statements) await source.query(statement);
    return source;
  } catch (error) {
    await untilClosed(source.driver.disconnect());
    if (!next || !isAboutEncryption(error, isEncrypted(options))) throw error;
    return openDataSource([next], ...statements).catch((other: unknown) => {
      throw !isEncrypted(options) && isAboutEncryption(other, true) ? error : other;
    });
  }
}

/** Settles as work of a command does. An error of the database becomes a `UsageError` that names the database. */
export async function asUsageErrors<T>(url: PersistentUrl, work: Promise<T>): Promise<T> {
  return work.catch((error: unknown) => {
    if (!(error instanceof QueryFailedError) && !failureOf(DIALECTS[url.engine], error)) throw error;
    throw new UsageError(failureMessage(url, error), { cause: error });
  });
}

/** Opens a database for a command, with its schema as it is. If it fails, rejects with `UsageError`, which names it. */
export async function withDataSourceAt<T>(
  url: PersistentUrl,
  work: (source: DataSource) => Promise<T>,
  timeout?: number,
): Promise<T> {
  return asUsageErrors(url, withDataSource(dataSourceOptions(createDatabaseFile(url), 1, timeout), work));
}
