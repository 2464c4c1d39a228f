#!/usr/bin/env node
import cluster from 'node:cluster';
import { fstatSync, lstatSync, writeFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import type { INestApplicationContext } from '@nestjs/common';
import type { Actions } from './adapters/cli/actions.js';
import { CommanderError } from 'commander';
import { commandLine } from './adapters/cli/command-line.js';
import { program } from './adapters/cli/program.js';
import { readSettingFile } from './adapters/files/setting-file.js';
import { databaseUrl, type LastingUrl } from './adapters/persistence/database-url.js';
import { findSqliteFile, makeSqliteFile } from './adapters/persistence/sqlite-file.js';
import type { Engine } from './adapters/persistence/typeorm/engines/engine.js';
import { StoreUnavailable, UsageError } from './application/errors.js';
import { fail } from './application/finding.js';
import { Config, environment, readConfig, setVariables } from './config.js';
import { exitOnSignal } from './process/graceful-stop.js';
import { SETTINGS } from './settings.js';
import packageJson from '../package.json' with { type: 'json' };

// What a command needs is loaded by it: the primary of several workers, and the help, need next to nothing.

function print(line: string): void {
  if (!fstatSync(1).isFile()) return void process.stdout.write(`${line}\n`);
  try {
    // To a file that cannot take all of it Node's stream would write a part, and not tell.
    writeFileSync(1, `${line}\n`);
  } catch (error) {
    tellOfLoss(error as NodeJS.ErrnoException);
  }
}

/** Whoever gave a command has not got what it was for, such as the text of a key. */
function tellOfLoss({ code }: NodeJS.ErrnoException): void {
  process.exitCode = 1;
  process.stderr.write(
    `Standard output does not take what the command prints (${code}); some of it is missing there.\n`,
  );
}

let isServing = false;

/** Serves by as many processes as are configured, this one being the only one, their primary, or one of them. */
async function serve(settings: Readonly<Record<string, string>>): Promise<void> {
  isServing = true;
  exitOnSignal();
  setVariables(settings);
  const config = readConfig();
  if (cluster.isPrimary && config.workers === 1) return (await import('./process/serve.js')).serve(config);
  const { supervise, work } = await import('./process/workers.js');
  await (cluster.isPrimary ? supervise(config) : work(config));
}

/** Lends the keys of the configured store to a command. */
const withKeys: Actions['withKeys'] = async (use) => {
  const advice =
    'The keys of DATABASE_URL=memory: are gone with the process that serves them; give it keys in API_KEYS.';
  const { ApiKeyService } = await import('./application/keys/api-key.service.js');
  return withContext(advice, (context) => use(context.get(ApiKeyService)));
};

/** Lends the pets of the configured store to a command. */
const withPets: Actions['withPets'] = async (use) => {
  const advice = 'The animals of DATABASE_URL=memory: would be gone with this command; set it to a database.';
  const { PetService } = await import('./application/pets/pet.service.js');
  return withContext(advice, (context) => use(context.get(PetService)));
};

/** For a command, which answers no requests. */
const NOTHING_COUNTED = { isUsed: false, redis: undefined };

/** Lends the service, without HTTP, to a command; `advice` is for whoever keeps it in memory. */
async function withContext<T>(advice: string, use: (context: INestApplicationContext) => Promise<T>): Promise<T> {
  const config = readConfig();
  if (config.database.engine === 'memory') throw new UsageError(advice);
  const { NestFactory } = await import('@nestjs/core');
  const { AppModule } = await import('./app.module.js');
  const context = await NestFactory.createApplicationContext(AppModule.of({ ...config, counting: NOTHING_COUNTED }), {
    // What fails is thrown, and told once.
    logger: false,
    abortOnError: false,
  });
  try {
    return await use(context);
  } finally {
    await context.close();
  }
}

/** Lends the configured database, its schema as it is found, to a command. */
async function withSchema<T>(
  use: (engine: Engine, steps: typeof import('./adapters/persistence/typeorm/schema-steps.js')) => Promise<T>,
): Promise<T> {
  const { database, databaseLimits } = readConfig();
  if (database.engine === 'memory') throw new UsageError('DATABASE_URL=memory: has no schema.');
  if (database.engine === 'sqlite') makeSqliteFile('DATABASE_URL', database.file);
  const { withEngine } = await import('./adapters/persistence/typeorm/open-database.js');
  const steps = await import('./adapters/persistence/typeorm/schema-steps.js');
  return withEngine(database, databaseLimits, (engine) => use(engine, steps));
}

/** How long a statement of a copy may take, in milliseconds: it counts whole tables. */
const COPY_STATEMENT_TIMEOUT = 600_000;

const copy: Actions['copy'] = async (from, to, report) => {
  const { databaseLimits } = readConfig();
  const { copyStore } = await import('./adapters/persistence/typeorm/copy-store.js');
  const limits = { ...databaseLimits, statementTimeout: COPY_STATEMENT_TIMEOUT };
  const [source, target] = [lastingUrl('--from', from), lastingUrl('--to', to)];
  if (source.engine === 'sqlite') findSqliteFile('--from', source.file);
  if (target.engine === 'sqlite') makeSqliteFile('--to', target.file);
  return copyStore(source, target, limits, report);
};

function lastingUrl(option: string, text: string): LastingUrl {
  const url = databaseUrl(option, text);
  if (url.engine === 'memory') throw new UsageError(`${option} cannot be memory:, which is gone with its process.`);
  return url;
}

const check: Actions['check'] = async () => {
  const env = environment();
  const { settingFindings, strayVariables } = await import('./setting-findings.js');
  const { secretFileFindings } = await import('./adapters/cli/secret-files.js');
  const others = () => [...strayVariables(env), ...secretFileFindings(env.API_KEYS_FILE)];
  let config: Config;
  try {
    config = readConfig(env);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    const advice = 'What depends on the settings is looked at once this is mended.';
    return [fail('settings', error.message, advice), ...others()];
  }
  const { inspectStore } = await import('./adapters/persistence/typeorm/inspect-store.js');
  const { database, databaseLimits, apiKeys, counting } = config;
  const store = await inspectStore(database, databaseLimits, apiKeys.length);
  const { inspectCounting } = await import('./adapters/counting/inspect-counting.js');
  const limits = await inspectCounting(counting);
  return [...settingFindings(config, env), ...store, ...limits, ...others()];
};

const backup: Actions['backup'] = async (file) => {
  const { databaseLimits } = readConfig();
  const store = sqliteStore();
  findSqliteFile('DATABASE_URL', store);
  const { makeBackup } = await import('./adapters/persistence/typeorm/backup-store.js');
  return makeBackup(store, file, databaseLimits);
};

const restore: Actions['restore'] = async (file) => {
  const { databaseLimits } = readConfig();
  const store = sqliteStore();
  findSqliteFile('The backup', file);
  const { restoreBackup } = await import('./adapters/persistence/typeorm/backup-store.js');
  return restoreBackup(store, file, databaseLimits);
};

/** What makes and restores the backups of a database server. */
const BACKUP_TOOLS = {
  postgres: 'pg_dump and pg_restore',
  mariadb: 'mariadb-dump and mariadb',
  mysql: 'mysqldump and mysql',
};

/** The path of the configured store, if it is a file of SQLite. */
function sqliteStore(): string {
  const { database } = readConfig();
  if (database.engine === 'sqlite') return database.file;
  if (database.engine === 'memory')
    throw new UsageError('DATABASE_URL=memory: is gone with its process, and has no backup.');
  throw new UsageError(
    `DATABASE_URL names a database server, which has tools of its own for this: ${BACKUP_TOOLS[database.engine]}; docs/backup.md shows how.`,
  );
}

async function openApi(form: 'json' | 'yaml'): Promise<string> {
  const { ApiDocument } = await import('./adapters/http/docs/api-document.js');
  const { Log } = await import('./adapters/log/log.js');
  const { createApp } = await import('./app.js');
  const log = new Log({ level: 'error', json: false }, (line) => void process.stderr.write(line));
  const app = await createApp(
    {
      ...readConfig(),
      database: { engine: 'memory' },
      metrics: undefined,
      tracing: undefined,
      counting: NOTHING_COUNTED,
    },
    log,
  );
  try {
    return app.get(ApiDocument).texts()[form];
  } finally {
    await app.close();
  }
}

/** Adds what `.env` in the working folder says to the environment, which goes before it. */
function loadEnvFile(): void {
  if (!lstatSync('.env', { throwIfNoEntry: false })) return;
  try {
    // Some editors put a byte order mark in front of the first name.
    const text = readSettingFile('.env').replace(/^\uFEFF/, '');
    setVariables({ ...parseEnv(text), ...environment() } as Record<string, string>);
  } catch (error) {
    throw new UsageError(`.env must be a file of settings, NAME=value in each line, but ${(error as Error).message}.`, {
      cause: error,
    });
  }
}

type Fault = Error & { readonly syscall?: string; readonly code?: unknown; readonly driverError?: Fault };

/** What a file of SQLite that is damaged, or a disk that is, has to do with (https://www.sqlite.org/rescode.html). */
const OF_THE_FILE = /^SQLITE_(?:CORRUPT|NOTADB|FULL|IOERR|READONLY|CANTOPEN|PERM|AUTH)/;

/** What a person did, or can mend, is told in a line; a fault of the program with its stack. */
function complaintOf(error: Fault): string {
  const { code, message } = error.driverError ?? error;
  if (OF_THE_FILE.test(String(code))) return `The SQLite database cannot be used: ${message} (${String(code)}).`;
  const isExpected = error instanceof UsageError || error instanceof StoreUnavailable || error.syscall !== undefined;
  return isExpected ? error.message : String(error.stack);
}

/** Whether tables may be coloured: on a terminal that has colours, and unless NO_COLOR is set. */
function hasColours(): boolean {
  return process.stdout.isTTY && process.stdout.hasColors();
}

process.stderr.on('error', () => undefined);
// The service goes on without a reader of its log.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (!isServing) tellOfLoss(error);
});
try {
  loadEnvFile();
  await program(
    {
      serve,
      withKeys,
      withPets,
      migrations: () => withSchema((engine, steps) => steps.schemaSteps(engine.dataSource)),
      migrate: () => withSchema((engine, steps) => steps.applySteps(engine)),
      revert: () => withSchema((engine, steps) => steps.revertStep(engine)),
      copy,
      check,
      backup,
      restore,
      openApi,
    },
    print,
    { version: packageJson.version, settings: SETTINGS, terminal: process.stderr, hasColours: hasColours() },
  ).parseAsync(commandLine(process.argv.slice(2)), { from: 'user' });
} catch (error) {
  // What is wrong with the arguments is told already.
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  process.stderr.write(`${complaintOf(error as Fault)}\n`);
  // What is left open would keep the process.
  process.exit(1);
}
