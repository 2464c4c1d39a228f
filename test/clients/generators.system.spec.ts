import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import ts from 'typescript';

const DOCUMENT = resolve('openapi.yaml');

/** A program that makes types of the document, in a version that Node 20 runs. */
interface Generator {
  readonly packages: readonly string[];
  readonly command: readonly string[];
  /** What it reads besides the document, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Where it writes NewPet and Pet. */
  readonly types: string;
  /** What it makes of an int64. */
  readonly int64: 'number' | 'bigint';
}

const ORVAL = ['orval@7.13.2'];

const HEY_API = ['@hey-api/openapi-ts@0.95.0', 'typescript@5.9.3'];

const KUBB = ['cli', 'core', 'plugin-oas', 'plugin-ts'].map((name) => `@kubb/${name}@4.39.3`);

/** The configuration of kubb that makes types alone, with these options. */
function kubbConfig(options: object): string {
  return `import { pluginOas } from '@kubb/plugin-oas';
import { pluginTs } from '@kubb/plugin-ts';
const plugins = [pluginOas({ generators: [] }), pluginTs(${JSON.stringify(options)})];
export default { root: '.', input: { path: ${JSON.stringify(DOCUMENT)} }, output: { path: 'out' }, plugins };
`;
}

/** The generators by name; what bears one first word shares an installation. */
const GENERATORS: Record<string, Generator> = {
  orval: {
    packages: ORVAL,
    command: ['orval', '--input', DOCUMENT, '--output', 'out/petstore.ts'],
    types: 'petstore.js',
    int64: 'number',
  },
  'orval with useBigInt': {
    packages: ORVAL,
    command: ['orval'],
    files: {
      'orval.config.mjs': `const output = { target: 'out/petstore.ts', override: { useBigInt: true } };
export default { petstore: { input: ${JSON.stringify(DOCUMENT)}, output } };
`,
    },
    types: 'petstore.js',
    int64: 'bigint',
  },
  kubb: {
    packages: KUBB,
    command: ['kubb', 'generate'],
    files: { 'kubb.config.js': kubbConfig({}) },
    types: 'index.js',
    int64: 'number',
  },
  'kubb with integerType': {
    packages: KUBB,
    command: ['kubb', 'generate'],
    files: { 'kubb.config.js': kubbConfig({ integerType: 'bigint' }) },
    types: 'index.js',
    int64: 'bigint',
  },
  'hey-api': {
    packages: HEY_API,
    command: [
      'openapi-ts',
      '-i',
      DOCUMENT,
      '-o',
      'out',
      '-p',
      '@hey-api/typescript',
      '@hey-api/sdk',
      '@hey-api/client-fetch',
    ],
    types: 'types.gen.js',
    int64: 'number',
  },
  'hey-api with transformers': {
    packages: HEY_API,
    command: ['openapi-ts', '-i', DOCUMENT, '-o', 'out', '-p', '@hey-api/typescript', '@hey-api/transformers'],
    types: 'types.gen.js',
    int64: 'bigint',
  },
  'ng-openapi-gen': {
    packages: ['ng-openapi-gen@1.1.0'],
    command: ['ng-openapi-gen', '--input', DOCUMENT, '--output', 'out'],
    types: 'models.js',
    int64: 'number',
  },
};

/** What a client written by hand may do with the types, and behind `@ts-expect-error` what it may not. */
function client({ types, int64 }: Generator): string {
  const categoryId = int64 === 'bigint' ? '42n' : '42';
  return `import type { NewPet, Pet } from './out/${types}';
export const bare: NewPet = { name: 'Bella', categoryId: ${categoryId} };
export const full: NewPet = { name: 'Bella', categoryId: ${categoryId}, status: 'sold' };
export const read = (pet: Pet): ['available' | 'pending' | 'sold', ${int64}, ${int64}] => [pet.status, pet.id, pet.categoryId];
// @ts-expect-error No other status.
export const lost: NewPet = { name: 'Bella', categoryId: ${categoryId}, status: 'lost' };
// @ts-expect-error Not null.
export const empty: NewPet = { name: 'Bella', categoryId: ${categoryId}, status: null };
// @ts-expect-error A category must be given.
export const uncategorised: NewPet = { name: 'Bella' };
// @ts-expect-error A pet that is answered has a status.
export const unknown: Pet = { id: ${categoryId}, name: 'Bella', categoryId: ${categoryId} };
// @ts-expect-error The status of a pet is no number.
export const counted = (pet: Pet): number => pet.status;
`;
}

/** What the compiler says of a file, in sentences. */
function faults(file: string): string[] {
  const program = ts.createProgram([file], {
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    target: ts.ScriptTarget.ES2022,
    allowImportingTsExtensions: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    strict: true,
    types: [],
  });
  const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(file));
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

describe('the types that are made of openapi.yaml', () => {
  it.each(Object.entries(GENERATORS))(
    'by %s have a status that a pet always has and a new pet may have',
    (name, generator) => {
      const folder = resolve('test-output', 'generators', name.split(' ')[0] ?? '');
      rmSync(join(folder, 'out'), { recursive: true, force: true });
      mkdirSync(folder, { recursive: true });
      const files = {
        'package.json': '{"private":true,"type":"module"}',
        ...generator.files,
        'client.ts': client(generator),
      };
      for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
      const options = { cwd: folder, stdio: 'pipe' as const, timeout: 120_000 };
      execFileSync(
        'npm',
        ['install', '--no-save', '--ignore-scripts', '--loglevel=error', ...generator.packages],
        options,
      );
      const [command = '', ...args] = generator.command;
      execFileSync(join(folder, 'node_modules', '.bin', command), args, {
        ...options,
        env: { ...process.env, CI: '1' },
      });
      expect(faults(join(folder, 'client.ts'))).toEqual([]);
    },
    180_000,
  );
});
