import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BrowserContext, chromium, Locator, Page } from 'playwright-core';

/** Where a Chromium of the system may be. */
const PLACES = [
  process.env.PETSTORE_BROWSER ?? '',
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

/** The path of an installed Chromium; undefined if there is none. */
export const browserPath = PLACES.find((path) => existsSync(path));

/** A page in a browser of its own, new and empty, that writes down whatever goes wrong in it. */
export class Browser {
  /** Console errors and warnings, exceptions, requests that failed, and answers of 400 and above. */
  readonly troubles: string[] = [];

  /** Every host that was asked for anything. */
  readonly hosts = new Set<string>();

  private constructor(
    private readonly context: BrowserContext,
    readonly page: Page,
    private readonly folder: string,
  ) {
    page.setDefaultTimeout(10_000);
    page.on('console', (message) => {
      if (['error', 'warning'].includes(message.type())) this.troubles.push(message.text());
    });
    page.on('pageerror', (error) => this.troubles.push(error.message));
    page.on('request', (request) => this.hosts.add(new URL(request.url()).host));
    page.on('requestfailed', (request) => this.troubles.push(`${request.url()} ${request.failure()?.errorText}`));
    page.on('response', (response) => {
      if (response.status() >= 400) this.troubles.push(`${response.url()} ${response.status()}`);
    });
  }

  /** Starts the browser at this path. */
  static async start(executablePath: string): Promise<Browser> {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-browser-'));
    const context = await chromium.launchPersistentContext(folder, {
      executablePath,
      headless: true,
      viewport: { width: 1280, height: 1200 },
      args: [
        // Chromium's sandbox does not start under root, as which containers run; the page is our own.
        '--no-sandbox',
        '--disable-gpu',
        '--disable-quic',
        '--no-first-run',
        '--disable-background-networking',
        '--disable-component-update',
        '--disable-sync',
      ],
    });
    return new Browser(context, context.pages()[0] ?? (await context.newPage()), folder);
  }

  /** Keeps a picture as `test-output/NAME.png`: of the whole page, or of what fits into the window from this element on. */
  async picture(name: string, from?: Locator): Promise<void> {
    mkdirSync('test-output', { recursive: true });
    await from?.evaluate((element: { scrollIntoView(): void }) => element.scrollIntoView());
    const fullPage = from === undefined;
    await this.page.screenshot({ path: `test-output/${name}.png`, fullPage, animations: 'disabled' });
  }

  async stop(): Promise<void> {
    await this.context.close();
    rmSync(this.folder, { recursive: true, force: true });
  }
}
