import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { newPetJson, petJson } from '../support/fields.js';
import { rawQuery } from '../stores/raw-query.js';
import { freshFolder } from '../support/fresh-folder.js';
import { until } from '../support/working-folder.js';

const folder = freshFolder();

it('the built program starts, serves and stops, and shows a key at the first start only', async () => {
  const first = await folder().serve({ LOG_LEVEL: 'debug' });
  const { key } = first;
  expect(key).toMatch(/^pets_[0-9A-Za-z]{36}$/);
  expect(first.log).toContain(`\nKeep: export KEY=${key}\n`);
  const [, url] = /^Try: +curl -i -H "Authorization: Bearer \$KEY" (\S+)$/m.exec(first.log) as unknown as string[];
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const created = await fetch(url as string, { method: 'POST', headers, body: newPetJson() });
  expect([created.status, await created.text()]).toEqual([201, petJson(1)]);
  expect((await fetch(url as string, { headers: { Authorization: `Bearer ${key}x` } })).status).toBe(401);
  const docs = await fetch(/^Docs: +(\S+)$/m.exec(first.log)?.[1] as string);
  expect(docs.status).toBe(200);
  expect(await first.end('SIGTERM')).toBe(0);

  const second = await folder().serve({ LOG_LEVEL: 'debug' });
  const list = await second.send(key as string);
  expect([list.status, await list.text()]).toEqual([200, `[${petJson(1)}]`]);
  expect(await second.end('SIGTERM')).toBe(0);
  expect(second.key).toBeUndefined();
  const greetings = (first.log + second.log).match(/^(?:The pet store is open|[A-Z][a-z]{2,3}:| {6}npx) .*$/gm)!;
  expect(greetings).toHaveLength(9);
  expect(greetings.filter((line) => line.length > 80)).toEqual([]);
  // The text of a key is shown once, in the greeting, and is written to no log and no file.
  const greeting = /^(?:Key|Keep|Try): .*$/gm;
  expect(first.log.match(greeting)).toHaveLength(3);
  for (const log of [first.log.replaceAll(greeting, ''), second.log]) expect(log).not.toContain('pets_');
  for (const { path, text } of folder().files()) {
    expect([path, text.includes((key as string).slice(9))]).toEqual([path, false]);
  }
});

it('a stack in the log of production names files and lines of src', async () => {
  const key = 'key-of-the-source-map-test-0123456789';
  const service = await folder().serve({ NODE_ENV: 'production', API_KEYS: key });
  await rawQuery(`sqlite:${folder().path}/data/petstore.sqlite`, 'ALTER TABLE pet RENAME TO pets');
  expect((await service.send(key)).status).toBe(500);
  await until(() => service.lines.some(({ level }) => level === 'error'));
  const { msg } = service.lines.find(({ level }) => level === 'error')!;
  const [, file = '', line] =
    /\((src\/adapters\/persistence\/typeorm\/database\.ts):(\d+):\d+\)/.exec(String(msg)) ?? [];
  expect(readFileSync(file, 'utf8').split('\n')[Number(line) - 1]).toContain('await');
  expect(await service.end('SIGTERM')).toBe(0);
});
