import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { buildProgram } from '../support/program.js';
import { RunningService } from '../support/working-folder.js';

describe('the packed program, installed where its sources are not', () => {
  let folder: string;

  const run = (command: string, ...args: string[]) =>
    execFileSync(command, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

  /** A PATH with this version of Node. */
  function pathOf(version: string): string {
    const name = `node-${process.platform}-${process.arch}@${version}`;
    return dirname(run('npx', '--yes', `--package=${name}`, '-c', 'command -v node')) + delimiter + process.env.PATH;
  }

  beforeAll(() => {
    const program = buildProgram();
    folder = mkdtempSync(join(tmpdir(), 'petstore-package-'));
    const tarball = run('npm', 'pack', '--silent', program).trim();
    run('npm', 'install', '--silent', '--ignore-scripts', '--global', '--prefix', folder, tarball);
  });

  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('contains the program, its license and those of the bundled packages, and no other code', () => {
    const installed = join(folder, 'lib', 'node_modules', 'petstore');
    const names = ['LICENSE', 'chunks', 'licenses.txt', 'node_modules', 'package.json', 'sbom.cdx.json', 'src'];
    expect(readdirSync(installed).sort()).toEqual(names);
    const licenses = readFileSync(join(installed, 'licenses.txt'), 'utf8');
    for (const name of ['@nestjs/core', 'express', 'typeorm'])
      expect(licenses).toMatch(new RegExp(`^${name} [\\d.]+ `, 'm'));
    // The build validates it against the schema of CycloneDX.
    const sbom = readFileSync(join(installed, 'sbom.cdx.json'), 'utf8');
    const { components } = JSON.parse(sbom) as { components: Record<'group' | 'name' | 'version', string>[] };
    const listed = components.map(({ group, name, version }) => `${group ? `${group}/` : ''}${name} ${version}`);
    const bundled = [...licenses.matchAll(/^([@\w./-]+ \d[\w.-]*) \(/gm)].map(([, name]) => name);
    expect(bundled.length).toBeGreaterThan(100);
    expect(listed).toEqual(expect.arrayContaining(bundled));
    expect(sbom).not.toContain(resolve('.'));
  });

  it('says what it needs on Node 18', () => {
    const env = { PATH: pathOf('18') };
    const commands = [join(folder, 'bin', 'petstore'), resolve('scripts/prepare.mjs')];
    const results = commands.map((path) => spawnSync('node', [path], { env, encoding: 'utf8' }));
    const message = /^petstore needs Node \^20\.19\.0 \|\| .*; this is 18\.\d+\.\d+\.\n$/;
    for (const result of results) expect(result).toMatchObject({ status: 1, stderr: expect.stringMatching(message) });
  });

  // On the newest one all tests of `npm test` run in CI.
  it.each(['20', '22', '24'])(
    'serves on Node %s',
    async (version) => {
      const PATH = pathOf(version);
      const empty = mkdtempSync(join(folder, 'empty-'));
      const service = new RunningService(
        spawn(join(folder, 'bin', 'petstore'), ['serve'], {
          cwd: empty,
          env: { PATH, PORT: '0' },
          stdio: ['ignore', 'pipe', 'pipe'],
        }),
      );
      await service.greeted(/^Try: .*\n/m);
      const created = await service.add(service.key as string, { name: 'Bella', categoryId: 42 });
      expect(created).toBe('{"id":1,"name":"Bella","categoryId":42,"status":"available"}');
      expect(await service.end('SIGTERM')).toBe(0);
      expect(readdirSync(empty)).toEqual(['data']);
    },
    60_000,
  );
});
