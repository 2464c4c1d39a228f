import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Browser, browserPath } from '../support/browser.js';
import { Service } from '../support/service.js';

const NO_BROWSER = 'No Chromium is installed ("apt-get install chromium"), nor named in PETSTORE_BROWSER.';

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

    it('is where / leads to', async () => {
      const response = await browser.page.goto(`http://${host}/`);
      expect(browser.page.url()).toBe(`http://${host}/docs`);
      expect(response?.headers()['content-security-policy']).toContain("default-src 'none'; script-src 'self'");
      await browser.page.locator('.opblock').first().waitFor();
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
      await dialog.locator('input').fill(service.key);
      await browser.picture('docs-authorize');
      await dialog.getByRole('button', { name: 'Apply credentials' }).click();
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

    it('met no error, no failed request and no other host on the way', () => {
      expect(browser.troubles).toEqual([]);
      expect([...browser.hosts]).toEqual([host]);
    });
  });
}
