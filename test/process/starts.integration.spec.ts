import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { AddressInfo, createServer, Server } from 'node:net';
import { join } from 'node:path';
import { freshFolder } from '../support/fresh-folder.js';
import { describeOnServers, itIfHas } from '../support/on-servers.js';
import { Proxy } from '../support/proxy.js';
import { storeKinds, TestStore } from '../support/stores.js';

// Each start is a process of its own, which takes its time if many run at once.
jest.setTimeout(120_000);

/** Within what time a start has failed, in milliseconds; the limits of the database are far above it. */
const PROMPT = 15_000;
const LIMITS = { POOL_TIMEOUT: '60000', STATEMENT_TIMEOUT: '60000' };

const folder = freshFolder();

/** What a start says that fails at once: one line, once. */
async function complaint(variables: Record<string, string>): Promise<string> {
  const began = performance.now();
  const { code, out, err } = await folder().run(['serve'], { PORT: '0', ...LIMITS, ...variables });
  expect({ code, out }).toEqual({ code: 1, out: '' });
  expect(err).toMatch(/^[^\n]{20,500}\.\n$/);
  expect(performance.now() - began).toBeLessThan(PROMPT);
  return err;
}

describe.each(storeKinds)('a start on $name', (kind) => {
  let store: TestStore;
  let taken: Server;
  let port: string;

  beforeEach(async () => {
    store = await kind.create();
    taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    port = String((taken.address() as AddressInfo).port);
  });

  afterEach(async () => {
    taken.close();
    await store.remove();
  });

  it.each(kind.name === 'memory' ? ['1'] : ['1', '2'])(
    'of %s processes that cannot listen ends at once, and says which setting would',
    async (workers) => {
      const variables = { DATABASE_URL: store.url, WEB_CONCURRENCY: workers };
      for (const setting of ['PORT', 'METRICS_PORT']) {
        const message = await complaint({ ...variables, [setting]: port });
        expect(message).toBe(
          `${setting} must be a free port; another program listens on port ${port} of "127.0.0.1". Stop it, or set ${setting} to another one.\n`,
        );
      }
      for (const setting of ['HOST', 'METRICS_HOST']) {
        for (const host of ['no-such-host.invalid', '192.0.2.1']) {
          const message = await complaint({ ...variables, METRICS_PORT: '0', [setting]: host });
          expect(message).toContain(`${setting} must be an address of this machine; nothing can listen on`);
        }
      }
    },
  );
});

describe('a start', () => {
  it.each(['1', '2'])('of %s processes says what is in the way of a SQLite database', async (workers) => {
    writeFileSync(join(folder().path, 'note'), 'no database');
    mkdirSync(join(folder().path, 'folder'));
    for (const [file, trouble] of [
      ['folder', '"folder" cannot be opened (EISDIR)'],
      ['note', '"note" is no SQLite database'],
      ['note/pets.sqlite', '"note/pets.sqlite" cannot be opened (ENOTDIR)'],
      ['/dev/null', '"/dev/null" is no file'],
      ['/proc/folder/pets.sqlite', '"/proc/folder/pets.sqlite" cannot be made, nor its folder (ENOENT)'],
      ['x'.repeat(300), `"${'x'.repeat(100)}…" cannot be opened (ENAMETOOLONG)`],
    ] as const) {
      const message = await complaint({ DATABASE_URL: `sqlite:${file}`, WEB_CONCURRENCY: workers });
      expect(message).toBe(`DATABASE_URL must be sqlite:FILE, a file that is a database or can be made; ${trouble}.\n`);
    }
    expect(folder().files()).toHaveLength(1);
  });

  it('says what is wrong with .env', async () => {
    const file = join(folder().path, '.env');
    mkdirSync(file);
    expect(await complaint({})).toBe('.env must be a file of settings, NAME=value in each line, but it is no file.\n');
    rmSync(file, { recursive: true });
    // Nobody can read its first byte, not even root.
    symlinkSync('/proc/self/mem', file);
    expect(await complaint({})).toBe(
      '.env must be a file of settings, NAME=value in each line, but it cannot be read (EIO).\n',
    );
    rmSync(file);
    symlinkSync('nowhere', file);
    expect(await complaint({})).toBe(
      '.env must be a file of settings, NAME=value in each line, but it cannot be read (ENOENT).\n',
    );
  });

  it.each(['OTEL_EXPORTER_OTLP_CERTIFICATE', 'OTEL_EXPORTER_OTLP_TRACES_CLIENT_KEY'])(
    'says what is wrong with %s, and waits for no pipe',
    async (name) => {
      const pipe = join(folder().path, 'pipe');
      execFileSync('mkfifo', [pipe]);
      const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: 'https://127.0.0.1:1', [name]: pipe };
      expect(await complaint(variables)).toBe(`${name} must be the path of a PEM file, but it is no file.\n`);
    },
  );

  it.each([
    ['HEADERS_TIMEOUT', { HEADERS_TIMEOUT: '20000', REQUEST_TIMEOUT: '15000' }],
    ['PUBLIC_BASE_URL', { PUBLIC_BASE_URL: 'https://例え.jp/v1' }],
    ['CORS_ORIGINS', { CORS_ORIGINS: 'https://例え.jp' }],
    ['API_KEYS_FILE', { API_KEYS_FILE: '.' }],
  ])('says what is wrong with %s', async (name, variables) => {
    expect(await complaint(variables)).toMatch(new RegExp(`^${name} must be `));
  });
});

describeOnServers('a start on a $name that takes connections and says nothing', (kind) => {
  itIfHas(kind, 'a way in between').each(['1', '2'])(
    'of %s processes serves within the limits, and answers 503 until it speaks',
    async (workers) => {
      const store = await kind.create();
      const [proxy, url] = await Proxy.to(store.url);
      proxy.hang();
      try {
        const limits = { POOL_TIMEOUT: '400', STATEMENT_TIMEOUT: '600' };
        const variables = {
          DATABASE_URL: url,
          WEB_CONCURRENCY: workers,
          API_KEYS: 'key-of-the-start-test',
          ...limits,
        };
        const began = performance.now();
        const service = await folder().serve(variables);
        const status = async (): Promise<number> => (await service.send('key-of-the-start-test')).status;
        expect(await status()).toBe(503);
        expect(performance.now() - began).toBeLessThan(PROMPT);
        proxy.forwardNew();
        const end = performance.now() + PROMPT;
        while ((await status()) !== 200) expect(performance.now()).toBeLessThan(end);
        expect(await service.end('SIGTERM')).toBe(0);
      } finally {
        await proxy.close();
        await folder().remove();
        await store.remove();
      }
    },
  );
});
