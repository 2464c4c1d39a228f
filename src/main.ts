import cluster from 'node:cluster';
import { CommanderError } from 'commander';
import { OutputFailed } from './adapters/cli/output.js';
import { program } from './adapters/cli/program.js';
import { sourceStack } from './adapters/observability/source-stack.js';
import { DatabaseUnavailable } from './application/errors.js';
import { UsageError } from './messages/usage-error.js';
import { standardOutput } from './process/standard-output.js';
import { prepareEnvironment, readSetting, readSettings } from './settings/settings.js';

/** What a command prints is its result; if a part is missing, the command has failed. */
function failOutput({ code }: NodeJS.ErrnoException): void {
  process.exitCode = 1;
  process.stderr.write(`Standard output could not be written (${code}); part of the output is missing.\n`);
}

async function serve(): Promise<void> {
  // Whoever has read the greeting or the log may go.
  process.stdout.off('error', failOutput).on('error', () => undefined);
  const settings = readSettings();
  if (cluster.isWorker || settings.WEB_CONCURRENCY === 1) return (await import('./process/serve.js')).serve(settings);
  // The primary counts for all workers, whose `RateLimits` ask it. Here, since what serves knows nothing of HTTP.
  if (settings.RATE_LIMIT || settings.AUTH_FAILURE_LIMIT)
    new (await import('rate-limiter-flexible')).RateLimiterClusterMaster();
  return (await import('./process/cluster.js')).supervise(settings);
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
  const petstore = program({ serve, openApi, output: standardOutput });
  // Workers have the environment of the primary: the file may have changed.
  if (cluster.isPrimary) petstore.hook('preAction', prepareEnvironment);
  const args = process.argv.slice(2);
  await petstore.parseAsync(args.length === 0 ? ['serve'] : args, { from: 'user' });
} catch (error) {
  // Commander has written what is wrong with the arguments.
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else if (error instanceof OutputFailed) process.exitCode = 1;
  else {
    process.stderr.write(`${messageOf(error as Error)}\n`);
    // Whatever is still open would keep the process running.
    process.exit(1);
  }
}
