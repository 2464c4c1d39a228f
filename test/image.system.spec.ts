import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildImage, type Image } from './support/dockerfile.js';
import { newPetJson, petJson } from './support/fields.js';
import { freePort } from './support/servers.js';

const KEY = 'a-key-of-the-environment';

/** The user of the container is nobody here, if the test may choose it. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

describe('[short] the image of the Dockerfile', () => {
  let folder: string;
  let image: Image;
  let container: { cwd: string; env: Record<string, string>; uid?: number; gid?: number };
  let service: ChildProcess | undefined;
  let address: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-image-'));
    chmodSync(folder, 0o755);
    image = buildImage(folder);
    writeFileSync(join(folder, 'built'), '');
    const data = join(image.root, 'data');
    if (NOBODY.uid !== undefined) chownSync(data, NOBODY.uid, NOBODY.gid);
    const PORT = String(await freePort());
    address = `http://127.0.0.1:${PORT}`;
    const DATABASE_URL = (image.env.DATABASE_URL as string).replace('/data', data);
    const env = { PATH: process.env.PATH as string, ...image.env, DATABASE_URL, PORT, API_KEYS: KEY };
    container = { cwd: join(image.root, image.workdir), env, ...NOBODY };
  });

  afterAll(() => {
    service?.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  async function health(): Promise<unknown> {
    const [command = '', ...args] = image.healthcheck;
    return (await once(execFile(command, args, container), 'exit'))[0];
  }

  it('runs as a user without rights, in production', () => {
    expect(image.user).toMatch(/^[1-9]\d*:[1-9]\d*$/);
    expect(image.env).toMatchObject({ NODE_ENV: 'production', HOST: '0.0.0.0' });
  });

  it('contains the program and the packages that it loads, and nothing else', () => {
    expect(readdirSync(container.cwd).sort()).toEqual(['dist', 'node_modules', 'package.json']);
    expect(existsSync(join(container.cwd, 'dist', 'sbom.cdx.json'))).toBe(true);
    const isInstalled = (name: string) => existsSync(join(container.cwd, 'node_modules', name));
    const needed = ['ioredis', 'libsql', 'mysql2', 'pg', 'rate-limiter-flexible', 'swagger-ui-dist'];
    expect([...needed, 'jest', 'typescript', 'typeorm'].filter(isInstalled)).toEqual(needed);
  });

  it('creates and lists a pet, writes to its volume only, and exits with 0 on SIGTERM', async () => {
    expect(await health()).toBe(1);
    const [command = '', ...args] = image.command;
    service = spawn(command, args, { ...container, stdio: ['ignore', 'pipe', 'inherit'] });
    for await (const bytes of service.stdout as AsyncIterable<Buffer>) if (bytes.includes('"address"')) break;
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
    const created = await fetch(`${address}/v1/pets`, { method: 'POST', headers, body: newPetJson() });
    expect(created.status).toBe(201);
    expect(await (await fetch(`${address}/v1/pets`, { headers })).text()).toBe(`[${petJson(1)}]`);
    for (const path of ['/openapi.json', '/docs']) expect((await fetch(address + path)).status).toBe(200);
    expect(await health()).toBe(0);
    const find = [image.root, '-newer', join(folder, 'built'), '-type', 'f'];
    const written = execFileSync('find', find, { encoding: 'utf8' }).split('\n').filter(Boolean);
    expect(written.filter((path) => !path.startsWith(join(image.root, 'data/')))).toEqual([]);
    const exit = once(service, 'exit');
    service.kill('SIGTERM');
    expect(await exit).toEqual([0, null]);
  });
});
