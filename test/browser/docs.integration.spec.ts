import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, chromium, type Page } from 'playwright-core';
import { newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { KEY } from '../support/raw-requests.js';
import { freePort } from '../support/servers.js';
import { Service } from '../support/service.js';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** The rules of WCAG 2.0 to 2.2 at the levels A and AA. */
const RULES = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

/** Those that take most of the time, and depend on colors, which are the same at all widths. */
const COLORS = ['color-contrast', 'link-in-text-block'];
const WITHOUT_COLORS = { runOnly: RULES, rules: Object.fromEntries(COLORS.map((rule) => [rule, { enabled: false }])) };

/** Runs rules; evaluates to a line for each violation. */
const audit = (options: object) => `axe.run(document, ${JSON.stringify(options)})
  .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target, html, any }) =>
    [id, target.join(' '), html.slice(0, 100), any[0]?.message].join(' | '))))`;

/** More than a JavaScript number holds exactly. */
const INT64 = '9007199254740993';

describe('the docs page in a browser', () => {
  let service: Service;
  let staging: Service;
  let browser: Browser;
  let page: Page;
  let host: string;
  const problems: string[] = [];
  const hosts = new Set<string>();

  beforeAll(async () => {
    const port = await freePort();
    host = `127.0.0.1:${port}`;
    staging = await Service.start({ API_KEYS: KEY, CORS_ORIGINS: `http://${host}` });
    const others = {
      PRODUCTION_BASE_URL: `http://${host}/v1`,
      STAGING_BASE_URL: `http://127.0.0.1:${staging.port}/v1`,
    };
    service = await Service.start({ API_KEYS: KEY, ...others }, undefined, port);
    // Chromium's sandbox does not start as root, the user in containers; the page is our own.
    const executablePath = process.env.PETSTORE_BROWSER ?? '/usr/bin/chromium';
    browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
    page = await (await browser.newContext({ viewport: { width: 1280, height: 844 } })).newPage();
    page.setDefaultTimeout(10_000);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) problems.push(message.text());
    });
    page.on('pageerror', ({ message }) => problems.push(message));
    page.on('requestfailed', (request) => {
      const error = request.failure()?.errorText;
      // A reload aborts what the page is still loading, such as its icon.
      if (error !== 'net::ERR_ABORTED') problems.push(`${request.url()} ${error}`);
    });
    page.on('response', (response) => {
      if (response.status() >= 400) problems.push(`${response.url()} ${response.status()}`);
      hosts.add(new URL(response.url()).host);
    });
    await page.goto(`http://${host}/`);
    await page.locator('.opblock').first().waitFor();
  });

  afterAll(async () => {
    await browser.close();
    await Promise.all([service.stop(), staging.stop()]);
  });

  const isAuthorized = (tab = page) => tab.locator('button.authorize.locked');

  async function authorize(): Promise<void> {
    await page.locator('button.authorize').first().click();
    const dialog = page.locator('.modal-ux');
    await dialog.getByLabel('Value:').fill(service.key);
    await dialog.getByRole('button', { name: 'Authorize' }).click();
    await dialog.getByRole('button', { name: 'Close' }).click();
    await isAuthorized().waitFor();
  }

  /** The block of an operation, opened. */
  async function open(operation: string) {
    const block = page.locator(`[id^="operations-"][id$="-${operation}"]`);
    const summary = block.locator('.opblock-summary-control');
    if ((await summary.getAttribute('aria-expanded')) === 'false') await summary.click();
    await block.getByRole('button', { name: 'Execute' }).waitFor();
    return block;
  }

  /** Presses Execute in the block of an operation, and resolves to the status and the body that the page then shows. */
  async function execute(operation: string): Promise<{ status: string; body: string }> {
    const block = await open(operation);
    await block.getByRole('button', { name: 'Execute' }).click();
    const response = block.locator('.live-responses-table .response');
    await response.waitFor();
    return {
      status: await response.locator('.response-col_status').innerText(),
      body: await response.locator('.highlight-code pre').first().innerText(),
    };
  }

  it('is where / redirects to, and calls this instance or an environment with another address', async () => {
    expect(page.url()).toBe(`http://${host}/docs`);
    const servers = await page.getByLabel('Server').locator('option').allInnerTexts();
    expect(servers).toEqual(['/v1 - This instance', `http://127.0.0.1:${staging.port}/v1 - Staging`]);
    await authorize();
    for (const { port } of [staging, service]) {
      await page.getByLabel('Server').selectOption({ index: port === staging.port ? 1 : 0 });
      const list = await open('listPets');
      expect((await execute('listPets')).status).toContain('200');
      expect(await list.locator('.request-url').innerText()).toContain(`http://127.0.0.1:${port}/v1/pets`);
    }
  });

  it('may send the headers of tracing to an instance that allows its origin', async () => {
    const tracing = ['traceparent', 'tracestate', 'baggage', 'sentry-trace'].map((name) => [name, 'x=1'] as const);
    const headers = { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json', 'Idempotency-Key': 'x' };
    const init = { method: 'POST', headers: { ...headers, ...Object.fromEntries(tracing) }, body: newPetJson() };
    const call = `fetch('http://127.0.0.1:${staging.port}/v1/pets', ${JSON.stringify(init)})`;
    expect(await page.evaluate(`${call}.then(({ status }) => status)`)).toBe(201);
  });

  it('shows every operation, and strikes through those that are deprecated', async () => {
    const shown = await page.locator('.opblock .opblock-summary-operation-id').allInnerTexts();
    expect(shown.sort()).toEqual(OPERATIONS.map(({ name }) => name).sort());
    const deprecated = page.locator('.opblock-deprecated');
    expect(await deprecated.locator('.opblock-summary-operation-id').allInnerTexts()).toEqual(
      OPERATIONS.filter((operation) => operation.deprecated).map(({ name }) => name),
    );
    expect(await deprecated.first().innerText()).toContain('5 December 2030');
    const path = "document.querySelector('.opblock-deprecated .opblock-summary-path__deprecated')";
    const decoration = await page.evaluate(`getComputedStyle(${path}).textDecorationLine`);
    expect(decoration).toBe('line-through');
  });

  it('creates and lists pets with an exact int64', async () => {
    const block = await open('createPet');
    await block.locator('textarea').fill(newPetJson({ name: '"Ünal 🐢"', categoryId: INT64 }));
    const created = await execute('createPet');
    expect(created).toEqual({ status: expect.stringContaining('201'), body: expect.stringContaining(INT64) });
    const list = await open('listPets');
    await list.locator('tr[data-param-name="limit"] input').fill('5');
    await list.locator('tr[data-param-name="status"] select').selectOption('available');
    const listed = await execute('listPets');
    expect(listed).toEqual({ status: expect.stringContaining('200'), body: expect.stringContaining(INT64) });
    const downloading = page.waitForEvent('download');
    await block.locator('.live-responses-table').getByRole('button', { name: 'Download' }).click();
    // As HTML, the name of a pet could be a script.
    expect((await downloading).suggestedFilename()).toMatch(/\.txt$/);
    expect(await block.locator('.curl').innerText()).toMatch(new RegExp(`http://${host}/v1/pets[^]*${INT64}`));
    expect(await list.locator('.request-url').innerText()).toContain(`http://${host}/v1/pets?limit=5&status=available`);
  });

  it('opens the operation of a link', async () => {
    await page.goto(`http://${host}/docs#/pets/createPet`);
    await page.reload();
    await page.getByRole('button', { name: 'Execute' }).waitFor();
    expect(await page.locator('.opblock.is-open .opblock-summary-operation-id').allInnerTexts()).toEqual(['createPet']);
  });

  it('keeps the key for its tab only', async () => {
    await page.reload();
    await isAuthorized().waitFor();
    const tab = await page.context().newPage();
    await tab.goto(`http://${host}/docs`);
    await tab.locator('.opblock').first().waitFor();
    expect(await isAuthorized(tab).count()).toBe(0);
    await tab.close();
  });

  it.each<['light' | 'dark', ...audits: [width: number, options: object][]]>([
    ['light', [1280, { runOnly: RULES }], [390, WITHOUT_COLORS]],
    // Only colors depend on the mode.
    ['dark', [1280, { runOnly: COLORS }]],
  ])('conforms to WCAG at AA in %s mode', async (colorScheme, ...audits) => {
    await page.emulateMedia({ colorScheme });
    await page.reload();
    await page.locator(colorScheme === 'dark' ? 'html.dark-mode' : 'html:not(.dark-mode)').waitFor();
    const violations: Record<string, unknown> = {};
    const auditAll = async (state: string) => {
      for (const [width, options] of audits) {
        await page.setViewportSize({ width, height: 844 });
        // A button that is still moving has neither its size nor its place.
        await page.mouse.move(0, 0);
        await page.evaluate('Promise.allSettled(document.getAnimations().map(({ finished }) => finished))');
        violations[`${width}, ${state}`] = await page.evaluate(audit(options));
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(width);
      }
    };
    await isAuthorized().waitFor();
    await page.evaluate(AXE);
    await isAuthorized().click();
    await page.locator('.modal-ux').waitFor();
    await auditAll('with the dialog');
    await page.locator('.modal-ux').getByRole('button', { name: 'Logout' }).click();
    await auditAll('with the dialog, without a key');
    await page.locator('.modal-ux').getByRole('button', { name: 'Close' }).click();
    await authorize();
    // A changed body adds the button Reset.
    await (await open('createPet')).locator('textarea').fill(newPetJson({ name: '"Max"' }));
    for (const { name } of OPERATIONS) await execute(name);
    await auditAll('executed');
    expect(violations).toEqual(Object.fromEntries(Object.keys(violations).map((state) => [state, []])));
  });

  it('caused no error, no failed request and no request to another host', () => {
    expect(problems).toEqual([]);
    expect([...hosts]).toEqual([host, `127.0.0.1:${staging.port}`]);
  });
});
