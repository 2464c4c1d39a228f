import { Command, InvalidArgumentError, Option } from 'commander';
import { KeyUse } from '../../application/keys/api-key-repository.port.js';
import { ApiKey } from '../../domain/keys/api-key.js';
import { Actions, Print, Surroundings } from './actions.js';
import { colourState } from './colour.js';
import { addExamples } from './examples.js';
import { table } from './table.js';

const UNITS: Readonly<Record<string, number>> = { m: 60_000, h: 3_600_000, d: 86_400_000 };

interface Issuing {
  readonly expires?: Date;
  readonly quiet?: true;
  readonly json?: true;
}

/** Adds `keys`, which issues, rotates, lists and revokes API keys. */
export function addKeysCommand(petstore: Command, actions: Actions, print: Print, { hasColours }: Surroundings): void {
  const keys = petstore.command('keys').description('issue, rotate, list and revoke API keys');
  addExamples(
    keys,
    'keys create --name shop --expires 90d',
    'keys rotate shop --overlap 7d',
    'keys list --json',
    'keys revoke shop',
  );

  keys
    .command('create')
    .description('issue a key; it is shown once')
    .requiredOption('--name <name>', 'whose key it is, for people: 1 to 64 printable ASCII characters')
    .option(
      '--expires <time>',
      'after how long it ends, as 90d, 12h or 30m, or when, as 2027-01-31; never if absent',
      expiry,
    )
    .addOption(quietly())
    .option('--json', 'as an object: name, prefix, key, createdAt, expiresAt')
    .action(async ({ name, expires, quiet, json }: Issuing & { name: string }) => {
      const { text, key } = await actions.withKeys((service) => service.create(name, expires ?? null));
      if (quiet) return print(text);
      if (json) return print(JSON.stringify(issued(text, key), null, 2));
      print(shownOnce(key));
      print(text);
    });

  keys
    .command('rotate')
    .description('issue a key in the place of one, which stays valid for a time under the name with .old behind it')
    .argument('<key>', 'the name or the prefix of the old one; the new one has its name')
    .requiredOption('--overlap <time>', 'for how long the old one stays valid, as 7d, 12h or 30m', duration)
    .option(
      '--expires <time>',
      'after how long the new one ends, as 90d, 12h or 30m, or when, as 2027-01-31; if absent, after as long as the old one was made for',
      expiry,
    )
    .addOption(quietly())
    .option('--json', 'as an object: name, prefix, key, createdAt, expiresAt, and old: name, prefix, expiresAt')
    .action(async (name: string, { overlap, expires, quiet, json }: Issuing & { overlap: number }) => {
      const { text, key, old } = await actions.withKeys((service) => service.rotate(name, overlap, expires));
      if (quiet) return print(text);
      if (json) {
        const { name, prefix, expiresAt } = old;
        return print(JSON.stringify({ ...issued(text, key), old: { name, prefix, expiresAt } }, null, 2));
      }
      print(`The old key (${old.prefix}) is called "${old.name}" from now on, and expires on ${day(old.expiresAt)}.`);
      print(shownOnce(key));
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

function quietly(): Option {
  return new Option('--quiet', 'print the key alone').conflicts('json');
}

function shownOnce({ name, expiresAt }: ApiKey): string {
  const end = expiresAt ? `expires on ${day(expiresAt)}` : 'does not expire';
  return `The key "${name}", which ${end}. Keep it: it is not shown again.`;
}

function issued(text: string, { name, prefix, createdAt, expiresAt }: ApiKey) {
  return { name, prefix, key: text, createdAt, expiresAt };
}

function state(key: Pick<ApiKey, 'expiresAt' | 'revokedAt'>): string {
  if (key.revokedAt) return 'revoked';
  return key.expiresAt && key.expiresAt.getTime() <= Date.now() ? 'expired' : 'valid';
}

/** A moment to the second, in UTC; a dash for none. */
function day(moment: Date | null | undefined): string {
  return moment ? moment.toISOString().replace('T', ' ').replace(/\..*/, 'Z') : '-';
}

/** So many minutes, hours or days, in milliseconds; undefined if it is none. */
function milliseconds(text: string): number | undefined {
  const [, count, unit] = /^([1-9][0-9]{0,5})([mhd])$/.exec(text) ?? [];
  return count && unit ? Number(count) * (UNITS[unit] as number) : undefined;
}

function duration(text: string): number {
  const length = milliseconds(text);
  if (length === undefined) throw new InvalidArgumentError('It must be a time such as 7d, 12h or 30m.');
  return length;
}

function expiry(text: string): Date {
  const length = milliseconds(text);
  if (length !== undefined) return new Date(Date.now() + length);
  const [, day] = /^(\d{4}-\d\d-\d\d)(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d))?$/.exec(text) ?? [];
  // Date.parse takes 30 February for 2 March.
  if (day === undefined || Number.isNaN(Date.parse(text)) || new Date(day).toISOString().slice(0, 10) !== day) {
    throw new InvalidArgumentError('It must be a time such as 90d, 12h or 30m, or a date such as 2027-01-31.');
  }
  return new Date(text);
}
