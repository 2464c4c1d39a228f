import { expect, it } from '@jest/globals';
import { newPetJson, petJson } from '../support/fields.js';
import { freshFolder } from '../support/fresh-folder.js';

const folder = freshFolder();

it('the built program starts, serves and stops, and shows a key at the first start only', async () => {
  const first = await folder().serve({ LOG_LEVEL: 'debug' });
  const [, key, url] = /^Try: +curl -i -H 'Authorization: Bearer (\S+)' (\S+)$/m.exec(first.log) as unknown as string[];
  expect(key).toMatch(/^pets_[0-9A-Za-z]{36}$/);
  expect(first.key).toBe(key);
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
  // The text of a key is shown once, in the greeting, and is written to no log and no file.
  const greeting = /^(?:Key|Keep|Try): .*$/gm;
  expect(first.log.match(greeting)).toHaveLength(3);
  for (const log of [first.log.replaceAll(greeting, ''), second.log]) expect(log).not.toContain('pets_');
  for (const { path, text } of folder().files()) {
    expect([path, text.includes((key as string).slice(9))]).toEqual([path, false]);
  }
});
