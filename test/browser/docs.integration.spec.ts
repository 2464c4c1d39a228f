import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Browser, browserPath } from '../support/browser.js';
import { Service } from '../support/service.js';

const NO_BROWSER = 'No Chromium is installed ("apt-get install chromium"), nor named in PETSTORE_BROWSER.';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

/** What axe-core has run of the page's own evaluation: the rules of WCAG 2.0 to 2.2 at the levels A and AA. */
const AUDIT = `axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] })
  .then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ target, html, any }) =>
    [id, target.join(' '), html.slice(0, 100), any[0]?.message].join(' | '))))`;

if (browserPath !== undefined) describeDocs(browserPath);
else {
  describe('the documentation in a browser', () => {
    it('is tried if one is installed', () => {
      if (process.env.PETSTORE_REQUIRE_BROWSER === '1') throw new Error(NO_BROWSER);
      process.stderr.write(`\n  The documentation was NOT tried in a browser. ${NO_BROWSER}\n\n`);
    });
  });
}

function describeDocs(path: string): void {
  describe('the documentation in a browser', () => {
    let service: Service;
    let browser: Browser;
    let host: string;

    /** The block of an operation, opened. */
    async function open(operation: string) {
      const block = browser.page.locator(`[id="operations-pets-${operation}"]`);
      const summary = block.locator('.opblock-summary-control');
      if ((await summary.getAttribute('aria-expanded')) === 'false') await summary.click();
      await block.getByRole('button', { name: 'Execute' }).waitFor();
      return block;
    }

    /** Presses Execute in the block of an operation and resolves to the status and the body that the page then shows. */
    async function execute(operation: string): Promise<{ status: string; body: string }> {
      const block = await open(operation);
      await block.getByRole('button', { name: 'Execute' }).click();
      const answer = block.locator('.live-responses-table .response');
      await answer.waitFor();
      return {
        status: await answer.locator('.response-col_status').innerText(),
        body: await answer.locator('.highlight-code pre').first().innerText(),
      };
    }

    beforeAll(async () => {
      service = await Service.start();
      browser = await Browser.start(path);
      host = `127.0.0.1:${service.port}`;
    }, 60_000);

    afterAll(async () => {
      await browser.stop();
      await service.stop();
    });

    it('is where / leads to, and comes compressed', async () => {
      let bytes = 0;
      browser.page.on('requestfinished', (request) => {
        void request.sizes().then(({ responseBodySize }) => (bytes += responseBodySize));
      });
      const response = await browser.page.goto(`http://${host}/`, { waitUntil: 'networkidle' });
      browser.page.removeAllListeners('requestfinished');
      expect(browser.page.url()).toBe(`http://${host}/docs`);
      expect(response?.headers()['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
      expect(response?.headers()['content-security-policy']).toContain("; connect-src 'self'; ");
      expect(response?.headers()['referrer-policy']).toBe('no-referrer');
      await browser.page.locator('.opblock').first().waitFor();
      // Swagger UI alone has 1.8 MB; compressed it is less than a third.
      expect(bytes).toBeGreaterThan(100_000);
      expect(bytes).toBeLessThan(600_000);
    });

    it('names the address that it calls, and says that no environment is set', async () => {
      const { page } = browser;
      expect(await page.getByLabel('Server').locator('option').allInnerTexts()).toEqual([
        `http://${host}/v1 - This instance`,
      ]);
      expect(await page.locator('.scheme-container').innerText()).toContain(
        'No address of production or staging is set (PRODUCTION_BASE_URL, STAGING_BASE_URL).',
      );
    });

    it('has the first operation in sight on a small screen, and nothing to filter three operations by', async () => {
      const { page } = browser;
      await page.setViewportSize({ width: 1280, height: 800 });
      const { y = 0, height = 0 } = (await page.locator('.opblock').first().boundingBox()) ?? {};
      expect(y).toBeGreaterThan(0);
      expect(y + height).toBeLessThan(800);
      expect(await page.locator('.filter, .operation-filter-input').count()).toBe(0);
    });

    it('shows the three operations, getPet struck through and with the date of its removal', async () => {
      const { page } = browser;
      expect(await page.locator('.opblock .opblock-summary-operation-id').allInnerTexts()).toEqual([
        'listPets',
        'createPet',
        'getPet',
      ]);
      const deprecated = page.locator('.opblock-deprecated');
      expect(await deprecated.count()).toBe(1);
      expect(await deprecated.innerText()).toContain('5 December 2030');
      const path = "document.querySelector('.opblock-deprecated .opblock-summary-path__deprecated')";
      const decoration = await page.evaluate(`getComputedStyle(${path}).textDecorationLine`);
      expect(decoration).toBe('line-through');
      await browser.picture('docs');
    });

    it('takes a key', async () => {
      const { page } = browser;
      await page.getByRole('button', { name: 'Authorize' }).click();
      const dialog = page.locator('.modal-ux');
      await dialog.getByLabel('Value:').fill(service.key);
      await browser.picture('docs-authorize');
      await dialog.getByRole('button', { name: 'Authorize' }).click();
      await dialog.getByRole('button', { name: 'Close' }).click();
      await page.locator('button.authorize.locked').waitFor();
    });

    it('adds a pet', async () => {
      const block = await open('createPet');
      await block.locator('textarea').fill('{"name":"Ünal 🐢","categoryId":9007199254740993}');
      const { status, body } = await execute('createPet');
      expect(status).toContain('201');
      expect(JSON.parse(body)).toMatchObject({ id: 1, name: 'Ünal 🐢', status: 'available' });
      expect(body).toContain('9007199254740993');
      expect((await service.send('/v1/pets/1')).body).toBe(body);
      await browser.picture('docs-createPet', block);
    });

    it('lists the pets of all statuses unless one is chosen', async () => {
      await service.add({ name: 'Rex', categoryId: 7, status: 'sold' });
      const { body } = await execute('listPets');
      expect(JSON.parse(body)).toMatchObject([{ name: 'Rex', status: 'sold' }, { name: 'Ünal 🐢' }]);
    });

    it('lists the pets of a status', async () => {
      const block = await open('listPets');
      await block.locator('tr[data-param-name="limit"] input').fill('5');
      await block.locator('tr[data-param-name="status"] select').selectOption('available');
      const { status, body } = await execute('listPets');
      expect(status).toContain('200');
      expect(JSON.parse(body)).toMatchObject([{ id: 1, name: 'Ünal 🐢', status: 'available' }]);
      expect(await block.locator('.request-url').innerText()).toContain(
        `http://${host}/v1/pets?limit=5&status=available`,
      );
      await browser.picture('docs-listPets', block);
    });

    it('shows each code sample of the document, with the address that is chosen', async () => {
      const { paths } = (await (await fetch(`http://${host}/openapi.json`)).json()) as {
        paths: Record<string, Record<string, { operationId: string; 'x-codeSamples': { source: string }[] }>>;
      };
      const shown: string[] = [];
      const documented: string[] = [];
      for (const operation of Object.values(paths).flatMap((item) => Object.values(item))) {
        const block = await open(operation.operationId);
        for (const summary of await block.locator('.code-sample summary').all()) await summary.click();
        shown.push(...(await block.locator('.code-sample pre').allInnerTexts()));
        documented.push(...operation['x-codeSamples'].map(({ source }) => source.replace('127.0.0.1:3000', host)));
      }
      expect(documented).toHaveLength(9);
      expect(shown.map((text) => text.trimEnd())).toEqual(documented.map((text) => text.trimEnd()));
      await browser.picture('docs-code-samples', (await open('createPet')).locator('.code-sample').first());
    });

    it('still has the key after a reload, on a telephone too', async () => {
      const { page } = browser;
      await page.setViewportSize({ width: 390, height: 844 });
      await page.reload();
      await page.locator('button.authorize.locked').waitFor();
      const block = await open('getPet');
      const { status, body } = await execute('getPet');
      expect(status).toContain('200');
      expect(body).toContain('Ünal 🐢');
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(390);
      await browser.picture('docs-telephone', block);
    });

    it('is dark where the system is, and changes with it', async () => {
      const { page } = browser;
      const background = () => page.evaluate('getComputedStyle(document.documentElement).backgroundColor');
      await page.emulateMedia({ colorScheme: 'dark' });
      await page.locator('html.dark-mode').waitFor();
      expect(await background()).toBe('rgb(28, 32, 34)');
      await page.emulateMedia({ colorScheme: 'light' });
      await page.locator('html:not(.dark-mode)').waitFor();
      expect(await background()).toBe('rgba(0, 0, 0, 0)');
    });

    it.each(['light', 'dark'] as const)(
      'fails no rule of WCAG at AA, where the system is %s',
      async (colorScheme) => {
        const { page } = browser;
        await page.emulateMedia({ colorScheme });
        const faults: Record<string, unknown> = {};
        for (const width of [1280, 390]) {
          await page.setViewportSize({ width, height: 800 });
          await page.reload();
          await page.locator('button.authorize.locked').waitFor();
          await page.evaluate(AXE);
          faults[`${width}, as it opens`] = await page.evaluate(AUDIT);
          await browser.picture(`docs-${colorScheme}-${width}`);
          await page.locator('button.authorize.locked').click();
          await page.locator('.modal-ux').waitFor();
          faults[`${width}, with a key`] = await page.evaluate(AUDIT);
          await page.locator('.modal-ux').getByRole('button', { name: 'Logout' }).click();
          faults[`${width}, without a key`] = await page.evaluate(AUDIT);
          await page.locator('.modal-ux').getByLabel('Value:').fill(service.key);
          await page.locator('.modal-ux').getByRole('button', { name: 'Authorize' }).click();
          await page.locator('.modal-ux').getByRole('button', { name: 'Close' }).click();
          for (const operation of ['listPets', 'createPet', 'getPet']) await execute(operation);
          for (const sample of await page.locator('.code-sample summary').all()) await sample.click();
          faults[`${width}, executed`] = await page.evaluate(AUDIT);
          await browser.picture(`docs-${colorScheme}-${width}-executed`, await open('listPets'));
          if (width === 390) continue;
          for (const schema of await page.getByRole('tab', { name: 'Schema' }).all()) await schema.click();
          await page.locator('section.models button').first().click();
          faults[`${width}, the schemas`] = await page.evaluate(AUDIT);
        }
        expect(faults).toEqual(Object.fromEntries(Object.keys(faults).map((state) => [state, []])));
      },
      240_000,
    );

    it('keeps the key for the tab, or if asked to, until it is logged out', async () => {
      const { page } = browser;
      const other = async (): Promise<boolean> => {
        const tab = await page.context().newPage();
        await tab.goto(`http://${host}/docs`);
        await tab.locator('.opblock').first().waitFor();
        // A key is put back once the document is there.
        await tab.waitForTimeout(200);
        const has = (await tab.locator('button.authorize.locked').count()) > 0;
        await tab.close();
        return has;
      };
      const dialog = page.locator('.modal-ux');
      await page.evaluate("localStorage.setItem('authorized', 'of an earlier version')");
      expect(await other()).toBe(false);
      expect(await page.evaluate('Object.keys(localStorage)')).toEqual([]);
      await page.locator('button.authorize').first().click();
      await dialog.getByLabel('Keep the key').check();
      expect(await other()).toBe(true);
      await dialog.getByLabel('Keep the key').uncheck();
      expect(await other()).toBe(false);
      await dialog.getByLabel('Keep the key').check();
      await dialog.getByRole('button', { name: 'Logout' }).click();
      expect(await other()).toBe(false);
      expect(await page.evaluate('[...Object.keys(localStorage), ...Object.keys(sessionStorage)]')).toEqual([]);
    });

    it('offers this instance first, and the environments that are set', async () => {
      const staging = await Service.start({
        PRODUCTION_BASE_URL: 'https://pets.example.com/v1',
        STAGING_BASE_URL: 'http://staging.example.com:8080/a/v1',
      });
      const tab = await browser.page.context().newPage();
      try {
        const response = await tab.goto(`http://127.0.0.1:${staging.port}/docs`);
        expect(response?.headers()['content-security-policy']).toContain(
          "; connect-src 'self' https://pets.example.com http://staging.example.com:8080; ",
        );
        expect(await tab.getByLabel('Server').locator('option').allInnerTexts()).toEqual([
          `http://127.0.0.1:${staging.port}/v1 - This instance`,
          'https://pets.example.com/v1 - Production',
          'http://staging.example.com:8080/a/v1 - Staging',
        ]);
        await tab.locator('[id="operations-pets-listPets"] .opblock-summary-control').click();
        await tab.locator('.code-sample summary').first().click();
        const sample = tab.locator('.code-sample pre').first();
        expect(await sample.innerText()).toContain(`http://127.0.0.1:${staging.port}/v1/pets?`);
        await tab.getByLabel('Server').selectOption('http://staging.example.com:8080/a/v1');
        expect(await sample.innerText()).toContain('http://staging.example.com:8080/a/v1/pets?');
        expect(await tab.locator('.servers-note').count()).toBe(0);
      } finally {
        await tab.close();
        await staging.stop();
      }
    });

    it('met no error, no failed request and no other host on the way', () => {
      expect(browser.troubles).toEqual([]);
      expect([...browser.hosts]).toEqual([host]);
    });
  });
}
