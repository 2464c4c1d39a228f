import { createServer, type Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { build } from 'esbuild';
import { type Browser, chromium } from 'playwright-core';
import { KEY } from '../support/raw-requests.js';
import { freePort } from '../support/servers.js';
import { Service } from '../support/service.js';
import { PRINTED, program } from './packed.js';

describe('the client, bundled into a page of another origin, in a browser', () => {
  let service: Service;
  let pages: Server;
  let browser: Browser;
  let port: number;

  beforeAll(async () => {
    port = await freePort();
    // The second is no secure context: it has no crypto.randomUUID.
    const origins = [`http://127.0.0.1:${port}`, `http://shop.test:${port}`];
    service = await Service.start({ API_KEYS: KEY, CORS_ORIGINS: origins.join() });
    // The program prints a line: the page shows it.
    const contents = program(`http://127.0.0.1:${service.port}/v1`, KEY).replace('console.log', 'document.title = ');
    const { outputFiles } = await build({
      stdin: { contents: contents.replace("'petstore-client'", "'./client/petstore.ts'"), resolveDir: '.' },
      bundle: true,
      format: 'esm',
      platform: 'browser',
      target: 'es2022',
      write: false,
    });
    const script = outputFiles[0]?.text as string;
    pages = createServer((_request, response) =>
      response.setHeader('Content-Type', 'text/html').end(`<!doctype html><script type="module">${script}</script>`),
    ).listen(port, '127.0.0.1');
    const executablePath = process.env.PETSTORE_BROWSER ?? '/usr/bin/chromium';
    const args = ['--no-sandbox', '--disable-gpu', '--host-resolver-rules=MAP shop.test 127.0.0.1'];
    browser = await chromium.launch({ executablePath, args });
  });

  afterAll(async () => {
    await browser.close();
    pages.close();
    await service.stop();
  });

  it.each([
    ['127.0.0.1', 'function'],
    ['shop.test', 'undefined'],
  ])('creates, lists and gets pets from a page of %s', async (host, randomUuid) => {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on('pageerror', ({ message }) => errors.push(message));
    await page.goto(`http://${host}:${port}/`);
    await page.waitForFunction('document.title', undefined, { timeout: 10_000 }).catch(() => undefined);
    expect(errors).toEqual([]);
    expect(await page.title()).toBe(PRINTED);
    expect(await page.evaluate('typeof crypto.randomUUID')).toBe(randomUuid);
    await page.close();
  });
});
