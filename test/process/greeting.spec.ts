import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { Log } from '../../src/adapters/observability/log.js';
import { greet } from '../../src/process/greeting.js';
import { readSettings } from '../../src/settings/settings.js';
import { freshFolder } from '../support/fresh-folder.js';
import { Service } from '../support/service.js';

const folder = freshFolder();

it('the greeting does not read the file of keys, which may have become invalid since the start', async () => {
  const file = join(folder().path, 'keys');
  writeFileSync(file, 'key-of-the-greeting-test-0123456789\n');
  const variables = { API_KEYS_FILE: file, NODE_ENV: 'production' };
  const settings = readSettings({ ...variables, DATABASE_URL: 'memory:' });
  const service = await Service.start(variables);
  writeFileSync(file, 'x\n');
  let log = '';
  await greet(service.app, 'http://127.0.0.1:3000', settings, new Log(settings, (line) => (log += line)));
  expect(log).toContain('The pet store is open.');
  expect(log).not.toContain('No valid API key exists');
  await service.stop();
});
