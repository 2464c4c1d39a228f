import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { freshFolder } from '../support/fresh-folder.js';
import { RunningService } from '../support/working-folder.js';

// A service is up to three processes, which take their time if many run at once.
jest.setTimeout(120_000);

const KEY = 'key-of-the-output-test';
const PROCESSES = ['1', '2'];

type Line = Record<string, unknown>;

const folder = freshFolder();

const linesOf = ({ log }: RunningService): Line[] =>
  log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);

describe('the output in production', () => {
  it.each(PROCESSES)(
    'of %s processes is JSON from the greeting to the end, and each of these once',
    async (workers) => {
      const service = await folder().serve({ NODE_ENV: 'production', WEB_CONCURRENCY: workers, API_KEYS: KEY });
      expect((await service.send(KEY)).status).toBe(200);
      expect(await service.end('SIGTERM')).toBe(0);
      const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
      const { address, pid } = service;
      const time = expect.stringMatching(/^\d{4}-.*Z$/);
      expect(linesOf(service)).toEqual([
        {
          level: 'info',
          time,
          version,
          address,
          docs: address.replace(/v1$/, 'docs'),
          pid,
          msg: 'The pet store is open.',
        },
        expect.objectContaining({ level: 'info', route: '/v1/pets', status: 200 }),
        { level: 'info', time, code: 0, msg: 'The pet store is closed.' },
      ]);
    },
  );

  it.each(PROCESSES)('of %s processes warns once if there is no key, and says how to make one', async (workers) => {
    const variables = { NODE_ENV: 'production', WEB_CONCURRENCY: workers };
    const warnings = async (more: Record<string, string> = {}) => {
      const service = await folder().serve({ ...variables, ...more });
      expect(await service.end('SIGTERM')).toBe(0);
      return linesOf(service).filter(({ level }) => level === 'warn');
    };
    const [warning, ...others] = await warnings();
    expect(warning?.msg).toMatch(/^There is no API key, .*"npx petstore keys create --name NAME".*\.$/);
    expect(others).toEqual([]);
    expect(await warnings({ API_KEYS: KEY })).toEqual([]);
    await folder().run(['keys', 'create', '--name', 'shop']);
    expect(await warnings()).toEqual([]);
  });
});

describe('the greeting for people', () => {
  it('says of the keys what is true', async () => {
    const keys = async (variables: Record<string, string> = {}) => {
      const service = await folder().serve(variables);
      expect(await service.end('SIGTERM')).toBe(0);
      return /^Keys?: .*$/m.exec(service.log)?.[0];
    };
    expect(await keys({ API_KEYS: KEY })).toMatch(/^Keys: those in API_KEYS and API_KEYS_FILE are valid; /);
    expect(await keys()).toMatch(/^Key: +pets_/);
    expect(await keys()).toMatch(/^Keys: "npx petstore keys list" shows those made before; /);
  });
});

describe.each(PROCESSES)('a service of %s processes', (workers) => {
  let service: ChildProcess | undefined;
  let port: string;

  beforeEach(async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    port = String((free.address() as AddressInfo).port);
    free.close();
    await once(free, 'close');
  });

  afterEach(() => {
    service?.kill('SIGKILL');
  });

  /** Starts the service; its standard output goes to this descriptor, or to a pipe. */
  function start(variables: Record<string, string>, output: number | 'pipe'): ChildProcess {
    service = spawn(process.execPath, [join(folder().program, 'src/main.js')], {
      cwd: folder().path,
      env: { WEB_CONCURRENCY: workers, PORT: port, API_KEYS: KEY, LOG_LEVEL: 'info', ...variables },
      stdio: ['ignore', output, 'pipe'],
    });
    return service;
  }

  const status = (): Promise<number> =>
    fetch(`http://127.0.0.1:${port}/v1/pets`, { headers: { Authorization: `Bearer ${KEY}` } }).then(
      (answer) => answer.status,
      () => 0,
    );

  async function untilItServes(): Promise<void> {
    const end = performance.now() + 30_000;
    while ((await status()) !== 200) {
      expect(performance.now()).toBeLessThan(end);
      await delay(20);
    }
  }

  async function expectService(running: ChildProcess): Promise<void> {
    for (let i = 0; i < 20; i++) expect(await status()).toBe(200);
    // Longer than lines wait for others.
    await delay(200);
    expect(await status()).toBe(200);
    const began = performance.now();
    running.kill('SIGTERM');
    expect(await once(running, 'exit')).toEqual([0, null]);
    expect(performance.now() - began).toBeLessThan(4_000);
  }

  describe.each(['production', 'development'])('in %s', (environment) => {
    it('outlives readers of its outputs that are gone before it greets', async () => {
      const running = start({ NODE_ENV: environment }, 'pipe');
      running.stdout?.destroy();
      running.stderr?.destroy();
      await untilItServes();
      await expectService(running);
    });

    it('outlives readers of its outputs that go while it serves', async () => {
      const running = start({ NODE_ENV: environment }, 'pipe');
      await once(running.stdout as NodeJS.ReadableStream, 'data');
      await untilItServes();
      running.stdout?.destroy();
      running.stderr?.destroy();
      await expectService(running);
    });

    it('serves and stops with a reader that does not read', async () => {
      const pipe = join(folder().path, 'pipe');
      execFileSync('mkfifo', [pipe]);
      const input = openSync(pipe, 'r+');
      execFileSync('sh', ['-c', 'dd if=/dev/zero bs=1024 count=64 status=none > "$0"', pipe]);
      const running = start({ NODE_ENV: environment }, input);
      try {
        await untilItServes();
        // The primary tells of a worker that ends: not even that holds it up.
        const workers = readFileSync(`/proc/${running.pid}/task/${running.pid}/children`, 'utf8').trim();
        for (const pid of workers.split(' ').filter(Boolean)) process.kill(Number(pid), 'SIGKILL');
        await delay(500);
        await untilItServes();
        await expectService(running);
      } finally {
        closeSync(input);
      }
    });
  });
});
