import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { execFile } from 'node:child_process';
import {
  appendFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, posix, resolve } from 'node:path';
import { promisify } from 'node:util';

// Each look at the whole of the project takes seconds of a busy machine.
jest.setTimeout(120_000);

/** What makes a project for dependency-cruiser. */
const PROJECT = ['src', 'ormconfig.ts', 'package.json', 'tsconfig.json', '.dependency-cruiser.js'];

interface Violation {
  readonly from: string;
  readonly to: string;
  readonly rule: { readonly name: string };
}

interface Result {
  readonly modules: readonly unknown[];
  readonly summary: {
    readonly violations: readonly Violation[];
    readonly ruleSetUsed: { readonly forbidden: readonly { readonly name: string }[] };
  };
}

/** A file that breaks a rule by what it imports: a package, or a module of the project. */
interface Plant {
  readonly rule: string;
  readonly file: string;
  readonly imports: string;
}

const PLANTS: readonly Plant[] = [
  { rule: 'domain-imports-only-domain', file: 'src/domain/p.ts', imports: 'src/application/errors' },
  { rule: 'domain-imports-only-domain', file: 'src/domain/pets/p.ts', imports: 'src/adapters/http/http-settings' },
  { rule: 'domain-imports-only-domain', file: 'src/domain/keys/p.ts', imports: 'node:crypto' },
  { rule: 'domain-imports-only-domain', file: 'src/domain/q.ts', imports: 'typeorm' },
  { rule: 'domain-imports-only-domain', file: 'src/domain/r.ts', imports: '@nestjs/common' },
  { rule: 'application-imports-only-core', file: 'src/application/p.ts', imports: 'src/adapters/crypto/node-secrets' },
  { rule: 'application-imports-only-core', file: 'src/application/q.ts', imports: '@nestjs/common' },
  { rule: 'application-imports-only-core', file: 'src/application/r.ts', imports: 'typeorm' },
  { rule: 'application-imports-only-core', file: 'src/application/s.ts', imports: 'node:crypto' },
  { rule: 'application-imports-only-core', file: 'src/application/t.ts', imports: 'src/config' },
  { rule: 'adapters-do-not-import-the-root', file: 'src/adapters/http/p.ts', imports: 'src/config' },
  { rule: 'adapters-do-not-import-the-root', file: 'src/adapters/persistence/typeorm/p.ts', imports: 'src/config' },
  { rule: 'adapters-do-not-import-the-root', file: 'src/adapters/cli/p.ts', imports: 'src/app.module' },
  { rule: 'adapters-do-not-import-the-root', file: 'src/adapters/crypto/p.ts', imports: 'ormconfig' },
  { rule: 'adapters-do-not-import-the-root', file: 'src/adapters/metrics/p.ts', imports: 'src/process/graceful-stop' },
  { rule: 'the-root-is-handed-down', file: 'src/config.ts', imports: 'src/app.module' },
  { rule: 'the-root-is-handed-down', file: 'src/open-store.ts', imports: 'src/process/serve' },
  { rule: 'app-module-stands-below-app', file: 'src/app.module.ts', imports: 'src/app' },
  { rule: 'app-stands-below-process', file: 'src/app.ts', imports: 'src/main' },
  { rule: 'app-stands-below-process', file: 'src/app.ts', imports: 'src/process/graceful-stop' },
  { rule: 'process-stands-below-main', file: 'src/process/serve.ts', imports: 'src/main' },
  { rule: 'process-stands-below-main', file: 'src/process/workers.ts', imports: 'src/main' },
  { rule: 'process-knows-no-http-and-no-pets', file: 'src/process/p.ts', imports: 'src/domain/pets/pet' },
  { rule: 'process-knows-no-http-and-no-pets', file: 'src/process/q.ts', imports: 'src/adapters/http/http-settings' },
  {
    rule: 'errors-and-bodies-do-not-know-the-server',
    file: 'src/adapters/http/errors/p.ts',
    imports: 'src/adapters/http/server/request',
  },
  {
    rule: 'errors-and-bodies-do-not-know-the-server',
    file: 'src/adapters/http/body/p.ts',
    imports: 'src/adapters/http/server/protocol/request-target',
  },
  {
    rule: 'http-does-not-know-persistence',
    file: 'src/adapters/http/q.ts',
    imports: 'src/adapters/persistence/database-url',
  },
  {
    rule: 'persistence-does-not-know-http',
    file: 'src/adapters/persistence/p.ts',
    imports: 'src/adapters/http/http-settings',
  },
  {
    rule: 'memory-and-typeorm-do-not-know-each-other',
    file: 'src/adapters/persistence/memory/p.ts',
    imports: 'src/adapters/persistence/typeorm/columns',
  },
  {
    rule: 'memory-and-typeorm-do-not-know-each-other',
    file: 'src/adapters/persistence/typeorm/q.ts',
    imports: 'src/adapters/persistence/memory/memory-pet.repository',
  },
  {
    rule: 'http-reaches-storage-through-a-service',
    file: 'src/adapters/http/pets/p.controller.ts',
    imports: 'src/application/pets/pet-repository.port',
  },
  {
    rule: 'http-reaches-storage-through-a-service',
    file: 'src/adapters/http/keys/p.guard.ts',
    imports: 'src/application/keys/api-key-repository.port',
  },
  { rule: 'no-cycles', file: 'src/adapters/http/cycle/a.ts', imports: 'src/adapters/http/cycle/b' },
  { rule: 'no-cycles', file: 'src/adapters/http/cycle/b.ts', imports: 'src/adapters/http/cycle/a' },
  { rule: 'nothing-unresolved', file: 'src/adapters/http/r.ts', imports: 'src/adapters/http/not-there' },
  { rule: 'nothing-unresolved', file: 'src/adapters/http/s.ts', imports: 'a-package-that-is-not-there' },
];

/** How a plant imports. An import of types alone leaves nothing in the JavaScript, and is an arrow all the same. */
const FORMS = [
  { form: 'a value', text: (from: string) => `import * as planted from '${from}';\nexport const use = planted;\n` },
  {
    form: 'a type alone',
    text: (from: string) => `import type * as Planted from '${from}';\nexport type Use = typeof Planted;\n`,
  },
];

/** Lets dependency-cruiser look at the project in a folder. */
async function cruise(folder: string): Promise<Result> {
  const program = resolve('node_modules/dependency-cruiser/bin/dependency-cruise.mjs');
  const args = ['--config', '.dependency-cruiser.js', '--output-type', 'json', 'src', 'ormconfig.ts'];
  const { stdout } = await promisify(execFile)(process.execPath, [program, ...args], {
    cwd: folder,
    maxBuffer: 2 ** 26,
  });
  return JSON.parse(stdout) as Result;
}

describe('the architecture', () => {
  let copy: string;

  beforeAll(() => {
    copy = mkdtempSync(join(tmpdir(), 'petstore-'));
  });

  afterAll(() => rmSync(copy, { recursive: true, force: true }));

  it('has every arrow point inward, no cycle, and nothing unresolved', async () => {
    const { modules, summary } = await cruise(resolve('.'));
    expect(modules.length).toBeGreaterThan(50);
    expect(summary.violations.map(({ rule, from, to }) => `${rule.name}: ${from} -> ${to}`)).toEqual([]);
  });

  it.each(FORMS)('is held by rules that each fail on $form that is imported against them', async ({ form, text }) => {
    const folder = join(copy, form);
    mkdirSync(folder);
    for (const part of PROJECT) cpSync(resolve(part), join(folder, part), { recursive: true });
    symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
    for (const { file, imports } of PLANTS) {
      mkdirSync(join(folder, dirname(file)), { recursive: true });
      appendFileSync(join(folder, file), text(specifier(file, imports)));
    }
    const { violations, ruleSetUsed } = (await cruise(folder)).summary;
    for (const { rule, file } of PLANTS) {
      // A cycle is told once, from wherever it is found first.
      const found = violations.filter(({ from, to }) => from === file || to === file);
      expect([file, ...found.map((violation) => violation.rule.name)]).toContain(rule);
    }
    expect(new Set(PLANTS.map(({ rule }) => rule))).toEqual(new Set(ruleSetUsed.forbidden.map(({ name }) => name)));
  });

  it('has one reader of the environment', () => {
    const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
    const readers = files.filter((file) => /\bprocess\s*\.\s*env\b/.test(readFileSync(join('src', file), 'utf8')));
    expect(readers).toEqual(['config.ts']);
  });
});

/** How a file names a module of the project, or a package. */
function specifier(file: string, imports: string): string {
  if (!/^(src\/|ormconfig$)/.test(imports)) return imports;
  const path = posix.relative(posix.dirname(file), imports);
  return `${path.startsWith('.') ? '' : './'}${path}.js`;
}
