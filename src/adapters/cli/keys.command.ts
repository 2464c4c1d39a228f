import { Command, InvalidArgumentError } from 'commander';
import { KeyUse } from '../../application/keys/api-key-repository.port.js';
import { ApiKey } from '../../domain/keys/api-key.js';
import { Actions, Print, Surroundings } from './actions.js';
import { colourState } from './colour.js';
import { addExamples } from './examples.js';
import { table } from './table.js';

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

/** Adds `keys`, which issues, lists and revokes API keys. */
export function addKeysCommand(petstore: Command, actions: Actions, print: Print, { hasColours }: Surroundings): void {
  const keys = petstore.command('keys').description('issue, list and revoke API keys');
  addExamples(keys, 'keys create --name shop --expires 90d', 'keys list --json', 'keys revoke shop');

  keys
    .command('create')
    .description('issue a key; it is shown once')
    .requiredOption('--name <name>', 'whose key it is, for people: 1 to 64 printable ASCII characters')
    .option(
      '--expires <time>',
      'after how long it ends, as 90d, 12h or 30m, or when, as 2027-01-31; never if absent',
      expiry,
    )
    .option('--quiet', 'print the key alone')
    .action(async ({ name, expires, quiet }: { name: string; expires?: Date; quiet?: true }) => {
      const { text, key } = await actions.withKeys((service) => service.create(name, expires ?? null));
      if (quiet) return print(text);
      print(
        `The key "${key.name}", which ${key.expiresAt ? `expires on ${day(key.expiresAt)}` : 'does not expire'}. Keep it: it is not shown again.`,
      );
      print(text);
    });

  keys
    .command('list')
    .description('list the keys: name, prefix, and when each was created, last used, and ends')
    .option('--json', 'as an array of objects: name, prefix, createdAt, lastUsedAt, expiresAt, revokedAt, state')
    .action(async ({ json }: { json?: true }) => {
      const [all, uses] = await actions.withKeys(
        async (service) => [await service.list(), await service.uses()] as const,
      );
      const used = new Map(uses.map((use) => [use.digest, use]));
      if (json) {
        const listed = all.map(({ digest, name, prefix, createdAt, expiresAt, revokedAt }) => {
          const lastUsedAt = used.get(digest)?.lastUsedAt ?? null;
          return { name, prefix, createdAt, lastUsedAt, expiresAt, revokedAt, state: state({ expiresAt, revokedAt }) };
        });
        return print(JSON.stringify(listed, null, 2));
      }
      const rows = all.map((key) => [
        key.name,
        key.prefix,
        day(key.createdAt),
        day(used.get(key.digest)?.lastUsedAt),
        day(key.expiresAt),
        state(key),
      ]);
      print(
        table(
          ['NAME', 'PREFIX', 'CREATED', 'LAST USED', 'EXPIRES', 'STATE'],
          rows,
          hasColours ? colourState : undefined,
        ),
      );
    });

  keys
    .command('revoke')
    .description('end a key at once, or within 5 seconds if instances share a database server')
    .argument('<key>', 'its name or its prefix')
    .action(async (nameOrPrefix: string) => {
      const key = await actions.withKeys((service) => service.revoke(nameOrPrefix));
      print(`The key "${key.name}" (${key.prefix}) is revoked.`);
    });

  keys
    .command('callers')
    .description('list who still calls getPet, which is deprecated: the name of the key, how often, and when last')
    .option('--json', 'as an array of objects: name, calls, lastCallAt')
    .action(async ({ json }: { json?: true }) => {
      const uses = await actions.withKeys((service) => service.uses());
      const callers = uses.filter((use): use is KeyUse & { lastGetPetAt: Date } => use.lastGetPetAt !== null);
      callers.sort((a, b) => b.lastGetPetAt.getTime() - a.lastGetPetAt.getTime());
      if (json) {
        const listed = callers.map((use) => ({ name: use.name, calls: use.getPetCalls, lastCallAt: use.lastGetPetAt }));
        return print(JSON.stringify(listed, null, 2));
      }
      const rows = callers.map((use) => [use.name, String(use.getPetCalls), day(use.lastGetPetAt)]);
      print(table(['NAME', 'CALLS', 'LAST CALL'], rows));
    });
}

function state(key: Pick<ApiKey, 'expiresAt' | 'revokedAt'>): string {
  if (key.revokedAt) return 'revoked';
  return key.expiresAt && key.expiresAt.getTime() <= Date.now() ? 'expired' : 'valid';
}

/** A moment to the second, in UTC; a dash for none. */
function day(moment: Date | null | undefined): string {
  return moment ? moment.toISOString().replace('T', ' ').replace(/\..*/, 'Z') : '-';
}

function expiry(text: string): Date {
  const [, count, unit] = /^([1-9][0-9]{0,5})([mhd])$/.exec(text) ?? [];
  if (count && unit) return new Date(Date.now() + Number(count) * (UNITS[unit] as number));
  const [, day] = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/.exec(text) ?? [];
  // Date.parse takes 30 February for 2 March.
  if (day === undefined || Number.isNaN(Date.parse(text)) || new Date(day).toISOString().slice(0, 10) !== day) {
    throw new InvalidArgumentError('It must be a time such as 90d, 12h or 30m, or a date such as 2027-01-31.');
  }
  return new Date(text);
}
