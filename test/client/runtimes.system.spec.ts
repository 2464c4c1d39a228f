import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Service } from '../support/service.js';
import { PackedClient, PRINTED, program } from './packed.js';

let client: PackedClient;
const service = Service.forSuite();

beforeAll(() => {
  client = new PackedClient();
});

afterAll(() => client.remove());

const node = `node-${process.platform}-${process.arch}`;
// Not the package bun, which is nothing without its install script.
const bun = `@oven/bun-${process.platform}-${process.arch === 'arm64' ? 'aarch64' : process.arch}`;

it.each([
  ...['20', '22', '24', '26'].map(
    (version) => [`Node ${version}`, `${node}@${version}`, `${node}/bin/node`, []] as const,
  ),
  ['Deno', 'deno@2', '.bin/deno', ['run', '--no-remote', '--allow-net']] as const,
  ['Bun', `${bun}@1`, `${bun}/bin/bun`, []] as const,
])('the packed client runs on %s', async (_name, packageName, binary, args) => {
  client.install(packageName);
  client.write('program.js', program(`http://127.0.0.1:${service.port}/v1`, service.key));
  const command = join(client.folder, 'node_modules', binary);
  expect(await client.run(command, ...args, 'program.js')).toBe(`${PRINTED}\n`);
});
