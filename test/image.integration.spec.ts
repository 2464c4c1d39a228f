import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ChildProcess, execFile, execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildImage, Image } from './support/dockerfile.js';

const KEY = 'a-key-of-the-environment';

/** Whom the container runs as, if this machine lets us: nobody. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** As the base image would: its commands are looked up in the same place. */
const PATH = process.env.PATH as string;

// Not a spec: with an installation from the lock file it takes longer than all of them. `npm run test:image` runs it.
describe('what the Dockerfile builds', () => {
  let folder: string;
  let image: Image;
  let built: string;
  let env: Record<string, string>;
  let service: ChildProcess;
  let output = '';
  let address: string;

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-image-'));
    chmodSync(folder, 0o755);
    image = buildImage(folder);
    built = join(folder, 'built');
    writeFileSync(built, '');
    const data = join(image.root, 'data');
    if (NOBODY.uid !== undefined) chownSync(data, NOBODY.uid, NOBODY.gid);
    const port = String(await freePort());
    address = `http://127.0.0.1:${port}`;
    const DATABASE_URL = (image.env.DATABASE_URL as string).replace('/data', data);
    env = { PATH, ...image.env, DATABASE_URL, PORT: port, API_KEYS: KEY };
  }, 300_000);

  afterAll(() => {
    service.kill('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });

  const inContainer = () => ({ cwd: join(image.root, image.workdir), env, ...NOBODY });

  async function health(): Promise<number> {
    const [command, ...args] = image.healthcheck as [string, ...string[]];
    const check = execFile(command, args, inContainer());
    const [code] = (await once(check, 'exit')) as [number];
    return code;
  }

  it('runs as somebody without rights, in production', () => {
    expect(image.user).toMatch(/^[1-9][0-9]*:[1-9][0-9]*$/);
    expect(image.env).toMatchObject({ NODE_ENV: 'production', HOST: '0.0.0.0' });
  });

  it('has what it needs to run, and nothing else', () => {
    const app = join(image.root, image.workdir);
    expect(readdirSync(app).sort()).toEqual(['dist', 'node_modules', 'package.json']);
    const packages = (file: string, of: string) =>
      Object.keys((JSON.parse(readFileSync(file, 'utf8')) as Record<string, object>)[of] as object);
    const isInstalled = (name: string) => existsSync(join(app, 'node_modules', name));
    const needed = packages(join(app, 'package.json'), 'dependencies');
    expect(needed).toContain('libsql');
    expect(needed.filter((name) => !isInstalled(name))).toEqual([]);
    // The others are part of the program, or are not for running it.
    const others = packages('package.json', 'dependencies').filter((name) => !needed.includes(name));
    expect(others).toContain('typeorm');
    expect([...others, 'jest', 'typescript'].filter(isInstalled)).toEqual([]);
    expect(existsSync(join(app, 'dist/modules'))).toBe(false);
  });

  it('serves, adds a pet and lists it', async () => {
    expect(await health()).toBe(1);
    const [command, ...args] = image.command as [string, ...string[]];
    service = spawn(command, args, { ...inContainer(), stdio: ['ignore', 'pipe', 'inherit'] });
    const opened = new Promise<void>((resolve) => {
      service.stdout?.on('data', (data: Buffer) => {
        output += data.toString();
        if (output.includes('The pet store is open')) resolve();
      });
    });
    await opened;
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' };
    const body = '{"name":"Bella","categoryId":42}';
    expect((await fetch(`${address}/v1/pets`, { method: 'POST', headers, body })).status).toBe(201);
    const list = await fetch(`${address}/v1/pets`, { headers });
    expect(await list.text()).toBe('[{"id":1,"name":"Bella","categoryId":42,"status":"available"}]');
    expect((await fetch(`${address}/openapi.json`)).status).toBe(200);
    expect((await fetch(`${address}/docs/swagger-ui.css`)).status).toBe(200);
    expect(await health()).toBe(0);
  });

  it.each(['postgres', 'mariadb'])('has the driver of %s, and that of Redis', (engine) => {
    const [program, main] = image.command as [string, string];
    const variables = {
      DATABASE_URL: `${engine}://me@127.0.0.1:1/pets`,
      RATE_LIMIT: '5',
      RATE_LIMIT_URL: 'redis://127.0.0.1:1',
    };
    const { stdout } = spawnSync(program, [main, 'check'], {
      ...inContainer(),
      env: { ...env, ...variables },
      encoding: 'utf8',
    });
    expect(stdout).toMatch(/^fail +database +.*ECONNREFUSED/m);
    expect(stdout).toMatch(/^fail +limits +.*ECONNREFUSED/m);
  });

  it('writes to its volume and nowhere else', () => {
    const written = execFileSync('find', [image.root, '-newer', built, '-type', 'f'], { encoding: 'utf8' });
    const files = written.split('\n').filter((path) => path !== '');
    expect(files.length).toBeGreaterThan(0);
    expect(files.filter((path) => !path.startsWith(join(image.root, 'data/')))).toEqual([]);
  });

  it('ends with 0 when it is told to stop, and has logged every request by then', async () => {
    const ended = once(service, 'exit');
    service.kill('SIGTERM');
    expect(await ended).toEqual([0, null]);
    const lines = output.split('\n').filter((line) => line.startsWith('{'));
    expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
      { level: 'info', msg: 'The pet store is open.', address: expect.stringMatching(/^http:.*\/v1$/) },
      { level: 'info', method: 'POST', route: '/v1/pets', status: 201, key: 'configured-1' },
      { level: 'info', method: 'GET', route: '/v1/pets', status: 200, key: 'configured-1' },
      { level: 'info', method: 'GET', route: '/openapi.json', status: 200 },
      { level: 'info', method: 'GET', status: 200 },
      { level: 'info', msg: 'The pet store is closed.', code: 0 },
    ]);
    expect(await health()).toBe(1);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
