import { type Command, InvalidArgumentError } from 'commander';
import { KeyNotIdentified } from '../../application/errors.js';
import { UsageError } from '../../messages/usage-error.js';
import { ApiKeyService, type IssuedKey } from '../../application/keys/api-key.service.js';
import { withRepositories } from './repositories.js';
import { type Output, OutputFailed } from './output.js';
import { example, format, table } from './text.js';

/** Adds `keys`, which creates, rotates, lists and revokes API keys. */
export function addKeysCommand(petstore: Command, output: Output): void {
  const { print } = output;
  const keys = petstore.command('keys').description('create, rotate, list and revoke API keys');

  async function withKeys<T>(
    access: 'create' | 'change' | 'read',
    use: (keys: ApiKeyService) => Promise<T>,
    quiet?: boolean,
  ): Promise<T> {
    try {
      return await withRepositories(access, output, ({ keys }) => use(new ApiKeyService(keys)), quiet);
    } catch (error) {
      if (!(error instanceof KeyNotIdentified)) throw error;
      throw new UsageError(`${error.message} "petstore keys list" lists all keys.`);
    }
  }

  /** Shows a key before it is stored for good: one that nobody has seen is not. */
  const show = async ({ text, key }: IssuedKey, quiet: boolean, heading = '') => {
    const end = key.expiresAt ? `expires on ${format(key.expiresAt)}` : 'never expires';
    const created = `Created key "${key.name}" (${end}). Save it now; it will not be shown again.`;
    try {
      await output.printSecret(quiet ? text : `${heading}${created}\n${text}`);
    } catch (error) {
      if (!(error instanceof OutputFailed)) throw error;
      throw new UsageError('The new key could not be printed: nothing was changed.', { cause: error });
    }
  };

  keys
    .command('create')
    .description('create a key; it is shown once')
    .requiredOption('--name <name>', 'name of the key, for people: 1 to 64 printable ASCII characters')
    .option('--expires <duration>', 'lifetime of the key, such as 90d, 12h or 30m (default: never expires)', duration)
    .option('--quiet', 'print the key only', false)
    .addHelpText('after', example('petstore keys create --name shop --expires 90d'))
    .action(async ({ name, expires, quiet }: { name: string; expires?: number; quiet: boolean }) => {
      await withKeys('create', (keys) => keys.create(name, expires, (issued) => show(issued, quiet)), quiet);
    });

  keys
    .command('rotate')
    .description('create a new key with the same name; the old one becomes NAME.old and expires after the overlap')
    .argument('<key>', 'name or prefix of the old key')
    .option('--overlap <duration>', 'how long the old key stays valid, such as 7d or 30m (default: 24h)', duration)
    .option('--quiet', 'print the key only', false)
    .addHelpText('after', example('petstore keys rotate shop --overlap 7d'))
    .action(async (which: string, { overlap = duration('24h'), quiet }: { overlap?: number; quiet: boolean }) => {
      const rotate = (keys: ApiKeyService) =>
        keys.rotate(which, overlap, (issued) => {
          const { name, prefix, expiresAt } = issued.old;
          const heading = `Renamed the old key (${prefix}) to "${name}"; it expires on ${format(expiresAt)}.\n`;
          return show(issued, quiet, heading);
        });
      await withKeys('change', rotate, quiet);
    });

  keys
    .command('list')
    .description('list the keys: name, prefix, when created, last used and expiring, and state')
    .option('--json', 'print an array of objects: name, prefix, createdAt, lastUsedAt, expiresAt, revokedAt, state')
    .addHelpText('after', example('petstore keys list --json'))
    .action(async ({ json }: { json?: true }) => {
      const listed = await withKeys('read', (keys) => keys.list());
      if (json) return print(JSON.stringify(listed, null, 2));
      const rows = listed.map((key) => [key.name, key.prefix, key.createdAt, key.lastUsedAt, key.expiresAt, key.state]);
      await print(table([['NAME', 'PREFIX', 'CREATED', 'LAST USED', 'EXPIRES', 'STATE'], ...rows]));
    });

  keys
    .command('revoke')
    .description('revoke a key: at once on SQLite, within 5 seconds on PostgreSQL and MariaDB')
    .argument('<key>', 'name or prefix')
    .addHelpText('after', example('petstore keys revoke shop.old'))
    .action(async (which: string) => {
      const { name, prefix } = await withKeys('change', (keys) => keys.revoke(which));
      await print(`Revoked key "${name}" (${prefix}).`);
    });

  keys
    .command('callers')
    .description('list the keys that have called getPet, which is deprecated, and when')
    .addHelpText('after', example('petstore keys callers'))
    .action(async () => {
      const callers = await withKeys('read', (keys) => keys.callers());
      const rows = callers.map((use) => [use.name, use.deprecatedCalls, use.lastDeprecatedCallAt]);
      await print(table([['NAME', 'CALLS', 'LAST CALL'], ...rows]));
    });
}

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** In milliseconds. */
function duration(text: string): number {
  const [, count, unit] = /^([1-9][0-9]{0,5})([mhd])$/.exec(text) ?? [];
  if (unit === undefined) throw new InvalidArgumentError('It must be a duration such as 90d, 12h or 30m.');
  return Number(count) * UNITS[unit]!;
}
