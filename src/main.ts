import cluster from 'node:cluster';
import { CommanderError } from 'commander';
import type { Access, Services } from './adapters/cli/command-context.js';
import { program } from './adapters/cli/program.js';
import { sourceStack } from './adapters/observability/source-stack.js';
import { persistent } from './settings/database-url.js';
import { requireDatabase } from './adapters/persistence/sqlite-file.js';
import { DatabaseUnavailable, UsageError } from './application/errors.js';
import type { Finding } from './application/finding.js';
import { ApiKeyService } from './application/keys/api-key.service.js';
import { PetService } from './application/pets/pet.service.js';
import {
  configuredKeys,
  databaseUrlOf,
  loadEnvFile,
  readSetting,
  readSettings,
  settingFindings,
} from './settings/settings.js';

// Commands import what they need: the primary of several workers, and the help, load almost nothing.

/** What a command prints is its result; if a part is missing, the command has failed. */
function failOutput({ code }: NodeJS.ErrnoException): void {
  process.exitCode = 1;
  process.stderr.write(`Standard output could not be written (${code}); part of the output is missing.\n`);
}

async function serve(): Promise<void> {
  // Whoever has read the greeting or the log may go.
  process.stdout.off('error', failOutput).on('error', () => undefined);
  const settings = readSettings();
  const isSupervisor = cluster.isPrimary && settings.WEB_CONCURRENCY > 1;
  if (isSupervisor) await (await import('./process/cluster.js')).supervise(settings);
  else await (await import('./process/serve.js')).serve(settings);
}

const configuredDatabase = () => persistent(readSetting('DATABASE_URL'));

async function withServices<T>(use: (services: Services) => Promise<T>, access: Access = 'create'): Promise<T> {
  const url = configuredDatabase();
  if (access !== 'create') requireDatabase(url);
  const { openDatabase } = await import('./adapters/persistence/persistence.module.js');
  const STATEMENT_TIMEOUT = readSetting('STATEMENT_TIMEOUT');
  const limits = { STATEMENT_TIMEOUT, MAX_WAITING: Infinity, readsOnly: access === 'read' };
  const database = await openDatabase(url, limits, () => undefined);
  try {
    return await use({ keys: new ApiKeyService(database.keys), pets: new PetService(database.pets) });
  } finally {
    await database.close();
  }
}

/** What there is to say about the settings and, if they are valid, about the database. */
async function check(): Promise<Finding[]> {
  const findings = settingFindings();
  if (findings.some(({ state }) => state === 'fail')) return findings;
  const { inspectDatabase } = await import('./adapters/persistence/typeorm/maintenance/check.js');
  const settings = readSettings();
  const { DATABASE_URL, STATEMENT_TIMEOUT, RATE_LIMIT_URL, isTraced } = settings;
  if (isTraced) findings.push(...(await (await import('./adapters/observability/tracing.js')).tracingFindings()));
  findings.push(...(await inspectDatabase(DATABASE_URL, STATEMENT_TIMEOUT, configuredKeys(settings).length)));
  if (RATE_LIMIT_URL === undefined) return findings;
  const { redisFinding } = await import('./adapters/http/auth/redis.js');
  return [...findings, await redisFinding(RATE_LIMIT_URL)];
}

async function openApi(): Promise<string> {
  const { openApiDocument, openApiYaml } = await import('./adapters/http/docs/document.js');
  const { Log } = await import('./adapters/observability/log.js');
  const { createApp } = await import('./app.js');
  const baseUrls = {
    PRODUCTION_BASE_URL: readSetting('PRODUCTION_BASE_URL'),
    STAGING_BASE_URL: readSetting('STAGING_BASE_URL'),
  };
  const settings = readSettings({ DATABASE_URL: 'memory:', LOG_LEVEL: 'silent', ...baseUrls });
  const app = await createApp(settings, new Log(settings));
  return openApiYaml(openApiDocument(app, settings)).trimEnd();
}

/** What the user can mend is one line; a fault of the program has its stack. */
function messageOf(error: Error): string {
  const isExpected = error instanceof UsageError || error instanceof DatabaseUnavailable || 'syscall' in error;
  return isExpected ? error.message : sourceStack(error.stack);
}

process.stderr.on('error', () => undefined);
process.stdout.on('error', failOutput);
try {
  const petstore = program({
    databaseUrl: configuredDatabase,
    urlOf: (option, given) => persistent(databaseUrlOf(option, given)),
    serve,
    withServices,
    check,
    openApi,
    print: (line) => void process.stdout.write(`${line}\n`),
  });
  petstore.hook('preAction', loadEnvFile);
  const args = process.argv.slice(2);
  await petstore.parseAsync(args.length === 0 ? ['serve'] : args, { from: 'user' });
} catch (error) {
  // Commander has written what is wrong with the arguments.
  if (error instanceof CommanderError) process.exit(error.exitCode === 0 ? 0 : 2);
  process.stderr.write(`${messageOf(error as Error)}\n`);
  // Whatever is still open would keep the process running.
  process.exit(1);
}
