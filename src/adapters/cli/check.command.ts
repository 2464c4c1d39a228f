import { styleText } from 'node:util';
import type { Command } from 'commander';
import { UsageError } from '../../messages/usage-error.js';
import { fail, type Finding, ok, warn } from '../../messages/finding.js';
import { misspeltSettings, readSettings, settingFindings, type Settings } from '../../settings/settings.js';
import type { Output } from './output.js';
import { QUIET, withProgress } from './progress.js';
import { example, plural, table } from './text.js';

/** The marks of findings on a terminal, and their order: what failed is seen last. */
const COLORS = { ok: 'green', warn: 'yellow', fail: 'red' } as const;
const STATES = Object.keys(COLORS) as (keyof typeof COLORS)[];

/** Adds `check`. */
export function addCheckCommand(petstore: Command, { print }: Output): void {
  petstore
    .command('check')
    .description('check the settings, the database and the keys; change nothing')
    .option('--verbose', 'print the checks that passed, too')
    .option('--json', 'print an array of objects: name, state, found, advice')
    .option(...QUIET)
    .addHelpText('after', example('petstore check --verbose'))
    .action(async ({ verbose, json, quiet }: { verbose?: true; json?: true; quiet?: true }) => {
      const findings = await withProgress(quiet, (progress) => {
        progress.begin({ name: 'Checking', ifInterrupted: 'Nothing was changed.' });
        return check();
      });
      const groups = STATES.map((group) => findings.filter(({ state }) => state === group));
      const printed = groups.flat().filter(({ state }) => verbose ?? state !== 'ok');
      if (json) await print(JSON.stringify(printed, null, 2));
      else if (printed.length > 0) await print(lines(printed));
      const failed = printed.filter(({ state }) => state === 'fail').map(({ name }) => name);
      if (failed.length > 0) throw new UsageError(`${plural(failed.length, 'check')} failed: ${failed.join(', ')}.`);
      const warnings = printed.filter(({ state }) => state === 'warn').length;
      if (!json) await print(`${findings.length} checks, none failed, ${plural(warnings, 'warning')}.`);
    });
}

/** A line for each finding, in groups on a terminal. */
function lines(findings: readonly Finding[]): string {
  const rows = findings.map(({ state, name, found, advice }) => [state, name, advice ? `${found} ${advice}` : found]);
  const begins = (i: number) => i > 0 && findings[i]!.state !== findings[i - 1]!.state && process.stdout.isTTY;
  return table(rows)
    .split('\n')
    .map((line, i) => {
      const { state } = findings[i]!;
      return (begins(i) ? '\n' : '') + styleText(COLORS[state], state) + line.slice(state.length);
    })
    .join('\n');
}

/** Everything that is checked, each subject by its own module. `env` is the environment by default. */
export async function check(env?: NodeJS.ProcessEnv): Promise<Finding[]> {
  const misspelt = misspeltSettings(env);
  let settings: Settings;
  try {
    // Read once: a file of keys may be a pipe.
    settings = readSettings(env);
  } catch (error) {
    return [fail('settings', (error as Error).message, 'The other checks need valid settings.'), ...misspelt];
  }
  const { API_KEYS, API_KEYS_FILE, DATABASE_URL, STATEMENT_TIMEOUT, RATE_LIMIT_URL, isTraced } = settings;
  const { inspectDatabase } = await import('../persistence/typeorm/maintenance/inspection.js');
  const { findings, validKeys } = await inspectDatabase(DATABASE_URL, STATEMENT_TIMEOUT);
  const redis = async (url: string) => (await import('../http/auth/redis.js')).redisFinding(url);
  return [
    ...settingFindings(settings, env),
    ...misspelt,
    ...(isTraced ? await (await import('../observability/tracing.js')).tracingFindings() : []),
    ...findings,
    ...keyFindings(validKeys, [...API_KEYS, ...API_KEYS_FILE.keys]),
    ...(RATE_LIMIT_URL === undefined ? [] : [await redis(RATE_LIMIT_URL)]),
  ];
}

/** Whether any API key is valid, unless it is not known how many stored ones are, and whether one can be guessed. */
function keyFindings(stored: number | undefined, configured: readonly string[]): Finding[] {
  const advice = 'Create one with "petstore keys create --name NAME", or set API_KEYS_FILE.';
  const none = warn('API keys', 'No key is valid, so every request is 401.', advice);
  const some = ok('API keys', `${stored} stored, ${configured.length} configured`);
  const short = configured.filter((key) => key.length < 32).length;
  const found = `${short} configured with less than 32 characters.`;
  return [
    ...(stored === undefined ? [] : [stored + configured.length > 0 ? some : none]),
    ...(short > 0 ? [warn('API keys', found, 'Keys of 32 random characters or more cannot be guessed.')] : []),
  ];
}
