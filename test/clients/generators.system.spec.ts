import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from '@jest/globals';
import ts from 'typescript';

const DOCUMENT = resolve('openapi.yaml');

/** A generator of types, in a version that Node 20 runs. */
interface Generator {
  readonly name: string;
  readonly packages: readonly string[];
  readonly command: readonly string[];
  /** Where it writes NewPet and Pet. */
  readonly types: string;
}

const GENERATORS: readonly Generator[] = [
  {
    name: 'orval',
    packages: ['orval@7.13.2'],
    command: ['orval', '--input', DOCUMENT, '--output', 'out/petstore.ts'],
    types: 'petstore.js',
  },
  {
    name: 'hey-api',
    packages: ['@hey-api/openapi-ts@0.95.0', 'typescript@5.9.3'],
    command: ['openapi-ts', '-i', DOCUMENT, '-o', 'out', '-p', '@hey-api/typescript', '@hey-api/client-fetch'],
    types: 'types.gen.js',
  },
  {
    name: 'ng-openapi-gen',
    packages: ['ng-openapi-gen@1.1.0'],
    command: ['ng-openapi-gen', '--input', DOCUMENT, '--output', 'out'],
    types: 'models.js',
  },
];

/** What a client may do with the types, and behind `@ts-expect-error` what it may not. */
function client({ types }: Generator): string {
  return `import type { NewPet, Pet } from './out/${types}';
export const bare: NewPet = { name: 'Bella', categoryId: 42 };
export const full: NewPet = { name: 'Bella', categoryId: 42, status: 'sold' };
export const read = (pet: Pet): ['available' | 'pending' | 'sold', number, number] => [pet.status, pet.id, pet.categoryId];
// @ts-expect-error No such status.
export const lost: NewPet = { name: 'Bella', categoryId: 42, status: 'lost' };
// @ts-expect-error Not nullable.
export const empty: NewPet = { name: 'Bella', categoryId: 42, status: null };
// @ts-expect-error categoryId is required.
export const uncategorised: NewPet = { name: 'Bella' };
// @ts-expect-error The status of a Pet is required.
export const unknown: Pet = { id: 1, name: 'Bella', categoryId: 42 };
`;
}

/** The errors of the compiler for a file. */
function errors(file: string): string[] {
  const { Bundler } = ts.ModuleResolutionKind;
  const options = { module: ts.ModuleKind.ESNext, moduleResolution: Bundler, target: ts.ScriptTarget.ES2022 };
  const program = ts.createProgram([file], { ...options, noEmit: true, strict: true, types: [] });
  const found = ts.getPreEmitDiagnostics(program, program.getSourceFile(file));
  return found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '));
}

it.each(GENERATORS)(
  'types generated from openapi.yaml by $name have a status that a Pet always has and a NewPet may have',
  (generator) => {
    const folder = resolve('test-output', 'generators', generator.name);
    rmSync(join(folder, 'out'), { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}');
    writeFileSync(join(folder, 'client.ts'), client(generator));
    const options = { cwd: folder, stdio: 'pipe', env: { ...process.env, CI: '1' } } as const;
    execFileSync('npm', ['install', '--no-save', '--ignore-scripts', '--silent', ...generator.packages], options);
    const [command = '', ...args] = generator.command;
    execFileSync(join(folder, 'node_modules', '.bin', command), args, options);
    expect(errors(join(folder, 'client.ts'))).toEqual([]);
  },
);
