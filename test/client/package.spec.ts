import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { expect, it } from '@jest/globals';
import { build } from 'esbuild';

it('the types of the client are those of openapi.yaml: npm run openapi writes them', () => {
  const types = execFileSync(process.execPath, ['node_modules/openapi-typescript/bin/cli.js', 'openapi.yaml'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  expect(readFileSync('client/wire.ts', 'utf8')).toBe(types);
});

it('the client, with what it depends on, has at most 10 kB for a browser, and imports nothing of Node', async () => {
  const { outputFiles } = await build({
    entryPoints: ['client/petstore.ts'],
    bundle: true,
    minify: true,
    format: 'esm',
    // An import of Node fails the build.
    platform: 'browser',
    write: false,
  });
  const [bundle] = outputFiles;
  expect(gzipSync(bundle?.contents as Uint8Array).length).toBeLessThan(10_000);
});
