// `npm run docs:picture`: writes docs/images/docs-page.png, the picture of the docs page in the README. Needs Chromium.
import './prepare.mjs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { env, execPath } from 'node:process';
import { chromium } from 'playwright-core';

const variables = { ...env, DATABASE_URL: 'memory:', PORT: '0', NODE_ENV: 'development' };
const service = spawn(execPath, ['dist/src/main.js'], { env: variables, stdio: ['ignore', 'pipe', 'inherit'] });
try {
  const [greeting] = await once(service.stdout.setEncoding('utf8'), 'data');
  const [docs] = /http:\S+\/docs/.exec(greeting);
  // Chromium's sandbox does not start as root; the page is our own.
  const executablePath = env.PETSTORE_BROWSER ?? '/usr/bin/chromium';
  const browser = await chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-gpu'] });
  const page = await browser.newPage({ viewport: { width: 960, height: 780 }, colorScheme: 'light' });
  await page.goto(docs);
  await page.locator('.opblock').first().waitFor();
  await page.screenshot({ path: 'docs/images/docs-page.png' });
  await browser.close();
} finally {
  service.kill();
}
