import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Service } from '../support/service.js';
import { PackedClient, PRINTED, program } from './packed.js';

/** What the types allow, and behind `@ts-expect-error` what they do not. */
const TYPED = `import { type NewPet, type Page, type Pet, PetStore, PetStoreError, type Retry } from 'petstore-client';

declare const key: string | undefined;
const store = new PetStore({
  baseUrl: 'http://127.0.0.1:3000/v1',
  apiKey: key,
  fetch: (url, init) => fetch(url, init),
  onRetry: ({ tries, error, delay }: Retry) => console.log(tries, error.code, delay.toFixed()),
});
export const platform = new PetStore({ baseUrl: 'http://127.0.0.1:3000/v1', apiKey: async () => 'key', fetch });
const { signal } = new AbortController();
const given: NewPet = { name: 'Bella', categoryId: 42 };
const bella: Pet = await store.createPet({ ...given, categoryId: 42n, status: 'sold' }, { idempotencyKey: 'a', signal });
export const exact: [bigint, bigint, 'available' | 'pending' | 'sold'] = [bella.id, bella.categoryId, bella.status];
for await (const { id } of store.listPets({ status: 'available', limit: 5, signal })) exact.push(id);
for await (const { pets, cursor } of store.pages()) store.listPets({ cursor }) satisfies AsyncIterable<Page['pets'][0]>;
try {
  await store.getPet(1n);
} catch (error) {
  if (PetStoreError.is(error, 'pet_not_found')) error.code satisfies 'pet_not_found';
  if (PetStoreError.is(error, 'network')) error.status satisfies number | undefined;
}
export const mistakes = () => [
  // @ts-expect-error No such field.
  store.createPet({ name: 'Bella', categoryId: 42, colour: 'black' }),
  // @ts-expect-error categoryId is required.
  store.createPet({ name: 'Bella' }),
  // @ts-expect-error Not an integer.
  store.createPet({ name: 'Bella', categoryId: '42' }),
  // @ts-expect-error No such status.
  store.listPets({ status: 'lost' }),
  // @ts-expect-error No such field.
  bella.colour,
  // @ts-expect-error No such code.
  PetStoreError.is(new Error(), 'pet_not_fuond'),
  // @ts-expect-error baseUrl is required.
  new PetStore({ apiKey: 'key' }),
];
`;

describe('the packed client', () => {
  let client: PackedClient;

  beforeAll(() => {
    client = new PackedClient();
    client.install('typescript@5', '@types/node@20', 'publint@0.3.25', '@arethetypeswrong/cli@0.18.5');
  });

  afterAll(() => client.remove());

  it('has the version and the license of the service, a README, types and source maps', () => {
    const installed = join(client.folder, 'node_modules/petstore-client');
    const names = readdirSync(installed);
    expect(names).toEqual(expect.arrayContaining(['LICENSE', 'README.md', 'package.json', 'petstore.d.ts']));
    const [manifest, own] = [join(installed, 'package.json'), 'package.json'].map(
      (path) => JSON.parse(readFileSync(path, 'utf8')) as Record<string, unknown>,
    );
    expect(manifest).toMatchObject({ name: 'petstore-client', version: own?.version, license: own?.license });
    const map = JSON.parse(readFileSync(join(installed, 'petstore.js.map'), 'utf8')) as { sourcesContent: string[] };
    expect(map.sourcesContent).toEqual([readFileSync('client/petstore.ts', 'utf8')]);
  });

  it('passes publint and @arethetypeswrong/cli', async () => {
    expect(await client.run('npx', '--no', 'publint', '--strict', client.tarball)).toMatch(/All good!/);
    // It exits with 1 for a problem.
    expect(await client.run('npx', '--no', 'attw', client.tarball, '--profile', 'esm-only')).toContain('🟢 (ESM)');
  });

  it.each(
    ['5', '6', '7'].flatMap((version) => ['nodenext', 'bundler'].map((resolution) => [version, resolution] as const)),
  )('compiles with TypeScript %s and %s, and its mistakes do not', async (version, resolution) => {
    const module = resolution === 'bundler' ? 'esnext' : 'nodenext';
    // Node's types, or a browser's.
    const types =
      resolution === 'bundler' ? { lib: ['es2022', 'dom'], types: [] } : { lib: ['es2022'], types: ['node'] };
    const strict = { strict: true, exactOptionalPropertyTypes: true, noUncheckedIndexedAccess: true, noEmit: true };
    const compilerOptions = { target: 'es2022', module, moduleResolution: resolution, ...types, ...strict };
    const config = `tsconfig-${version}-${resolution}.json`;
    client.write('typed.ts', TYPED);
    client.write(config, JSON.stringify({ compilerOptions, files: ['typed.ts'] }));
    const compiler = { 5: 'node_modules/typescript', 6: PackedClient.ofProject('typescript') }[version];
    const folder = compiler ?? PackedClient.ofProject('typescript-7');
    expect(await client.run(process.execPath, `${folder}/bin/tsc`, '--version')).toMatch(`Version ${version}.`);
    expect(await client.run(process.execPath, `${folder}/bin/tsc`, '-p', config)).toBe('');
  });

  it('runs', async () => {
    const service = await Service.start();
    client.write('program.js', program(`http://127.0.0.1:${service.port}/v1`, service.key));
    expect(await client.run(process.execPath, 'program.js')).toBe(`${PRINTED}\n`);
    await service.stop();
  });

  it('does what the docs show', async () => {
    const pages = ['docs/client.md', 'README.md', 'client/README.md'].map((page) => readFileSync(page, 'utf8'));
    const [shown, ...others] = pages.map((text) => /^```ts\n([^]*?)^```$/m.exec(text)?.[1]);
    expect(others).toEqual([shown, shown]);
    const service = await Service.start();
    const example = shown?.replace('127.0.0.1:3000', `127.0.0.1:${service.port}`);
    client.write('example.js', example?.replace('process.env.KEY', `'${service.key}'`) as string);
    expect(await client.run(process.execPath, 'example.js')).toBe('1n Bella\n');
    await service.stop();
  });
});
