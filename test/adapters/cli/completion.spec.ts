import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Actions } from '../../../src/adapters/cli/actions.js';
import { program } from '../../../src/adapters/cli/program.js';
import { optionName, Setting } from '../../../src/adapters/cli/setting.js';
import { SETTINGS } from '../../../src/settings.js';
import { binary } from '../../support/servers.js';

const BIN = ['/usr/bin', '/bin', '/usr/local/bin'];

/** What is typed before Tab is pressed, and what it becomes, or what is offered if that is more than one word. None of these is typed. */
const LINES: readonly { line: string; becomes?: string; offers?: readonly string[] }[] = [
  { line: 'ke', becomes: 'keys' },
  { line: 'keys ro', becomes: 'keys rotate' },
  { line: 'serve --po', offers: ['--port', '--pool-timeout'] },
  { line: '--po', offers: ['--port', '--pool-timeout'] },
  { line: 'keys rotate shop --ov', becomes: 'keys rotate shop --overlap' },
  { line: 'keys create --name list --ex', becomes: 'keys create --name list --expires' },
  { line: 'migrate --js', becomes: 'migrate --json' },
  { line: 'completion f', becomes: 'completion fish' },
  { line: 'help keys ro', becomes: 'help keys rotate' },
  { line: 'backup tsconfig.b', becomes: 'backup tsconfig.build.json' },
  { line: 'serve --api-keys-file tsconfig.b', becomes: 'serve --api-keys-file tsconfig.build.json' },
  { line: 'openapi --log', becomes: 'openapi --log' },
];

/** By shell, what it offers for each line, and, between < and >, what the line becomes. */
const SHELLS: Readonly<Record<string, { needs: readonly string[]; complete: (script: string) => string[] }>> = {
  bash: {
    needs: ['bash', 'script'],
    complete: (script) =>
      typeInto('bash --norc --noprofile -i', `bind 'set show-all-if-ambiguous on'; source ${script}`),
  },
  zsh: {
    needs: ['zsh', 'script'],
    complete: (script) => typeInto('zsh -f -i', `autoload -U compinit; compinit -u -D; source ${script}`),
  },
  fish: {
    needs: ['fish'],
    complete: (script) =>
      LINES.map(({ line }) => {
        const offered = run('fish', ['-c', `source ${script}; complete -C 'petstore ${line}'`]);
        const [offer, ...more] = offered.trimEnd().split('\n');
        const only = more.length === 0 ? offer?.split('\t')[0] : undefined;
        return `${offered}<${only ? line.replace(/\S+$/, only) : line}>`;
      }),
  },
};

/** Types each line into a shell on a terminal, then Tab and Enter, where `petstore` prints its arguments; returns what the terminal shows for each. */
function typeInto(shell: string, setUp: string): string[] {
  // Its octal codes keep the marks, < and >, out of what is only typed.
  const mark = `petstore() { printf '\\074%s\\076\\n' "$*"; }`;
  const keys = [`${setUp}; ${mark}`, ...LINES.map(({ line }) => `petstore ${line}\t`), 'exit', ''].join('\n');
  return run('script', ['-qec', shell, '/dev/null'], keys).match(/[^<>]*<[^>]*>/g) ?? [];
}

function run(command: string, args: string[], input = ''): string {
  const home = mkdtempSync(join(tmpdir(), 'petstore-'));
  try {
    const env = { PATH: process.env.PATH, HOME: home, TERM: 'xterm', LC_ALL: 'C.UTF-8' };
    const { error, stdout, stderr } = spawnSync(command, args, { input, env, encoding: 'utf8', timeout: 30_000 });
    if (error) throw error;
    return stdout + stderr;
  } finally {
    rmSync(home, { recursive: true });
  }
}

async function script(...args: string[]): Promise<string> {
  const printed: string[] = [];
  const terminal = { write: () => undefined };
  const surroundings = { version: '1.2.3', settings: SETTINGS, terminal, hasColours: false };
  const petstore = program({} as Actions, (line) => printed.push(line), surroundings);
  await petstore.parseAsync(['completion', ...args], { from: 'user' });
  return printed.join('\n');
}

describe.each(Object.entries(SHELLS))('the completion in %s', (shell, { needs, complete }) => {
  const missing = needs.filter((name) => binary(name, BIN) === undefined);
  const reason = `${missing.join(' and ')} is not on this machine: the completion in ${shell} was left out.`;
  const isRequired = process.env.PETSTORE_REQUIRE_SHELLS === '1';
  if (missing.length > 0 && !isRequired) process.stderr.write(`\n${reason}\n`);
  const itInShell = missing.length > 0 && !isRequired ? it.skip : it;
  let folder: string;
  let shown: string[];

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    writeFileSync(join(folder, 'script'), await script(shell));
    if (missing.length === 0) shown = complete(join(folder, 'script'));
    else if (isRequired) throw new Error(reason);
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  itInShell.each(LINES.map((each, i) => ({ ...each, i })))(
    'completes "petstore $line"',
    ({ becomes, offers = [], i }) => {
      if (becomes !== undefined) expect(shown[i]).toContain(`<${becomes}>`);
      for (const offer of offers) expect(shown[i]).toContain(offer);
    },
  );

  it('has an option for each setting, but for a secret', async () => {
    const text = await script(shell);
    for (const setting of SETTINGS as readonly Setting[]) {
      const name = optionName(setting).replace(/^--/, '');
      expect([name, new RegExp(`(--|-l )${name}[ ':]`).test(text)]).toEqual([name, !setting.isSecret]);
    }
  });
});
