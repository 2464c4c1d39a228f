import { describe, expect, it } from '@jest/globals';
import Libsql from 'libsql';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { expectError } from '../support/error-body.js';
import { newPetJson } from '../support/fields.js';
import { Service } from '../support/service.js';
import { sqlite } from '../support/stores.js';

describe('the Idempotency-Key header', () => {
  const service = Service.forSuite();

  it.each([
    ['is empty', ['']],
    ['has a space', ['a b']],
    ['has a character beyond ASCII', ['\xe9']],
    ['is longer than 255 characters', ['k'.repeat(256)]],
    ['is given twice', ['one', 'two']],
  ])('is rejected with 400 if it %s, and nothing is created', async (_what, keys) => {
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': keys };
    const response = await service.send('/v1/pets', { method: 'POST', headers, body: newPetJson() });
    expectError(response, 'invalid_idempotency_key');
    expect((await service.send('/v1/pets')).body).toBe('[]');
  });

  it('may be 255 visible characters', async () => {
    const headers = { 'Idempotency-Key': '!~"'.padEnd(255, 'k') };
    const first = await service.add(newPetJson(), headers);
    expect(await service.add(newPetJson(), headers)).toMatchObject({ status: 201, body: first.body });
  });

  it('returns the same 201 byte for byte to a repeated request with an equal payload', async () => {
    const headers = { 'Idempotency-Key': 'repeated' };
    const { body, headers: sent } = await service.add('{"name":"Bella","categoryId":42}', headers);
    expect(sent).not.toHaveProperty('idempotent-replayed');
    const after = await service.add(newPetJson());
    const payload = ' {"categoryId":4.2e1, "status":"available", "name":"\\u0042ella"}';
    const replayed = { 'idempotent-replayed': 'true', location: sent.location };
    expect(await service.add(payload, headers)).toMatchObject({ status: 201, body, headers: replayed });
    expect((await service.send('/v1/pets?limit=1')).body).toBe(`[${after.body}]`);
  });

  it('is a different one for another API key, and in upper instead of lower case', async () => {
    const { text } = await service.app.get(ApiKeyService).create('another');
    const created = [
      await service.add(newPetJson(), { 'Idempotency-Key': 'Scope' }),
      await service.add(newPetJson(), { 'Idempotency-Key': 'Scope', Authorization: `Bearer ${text}` }),
      await service.add(newPetJson(), { 'Idempotency-Key': 'scope' }),
    ];
    expect(created.map(({ status }) => status)).toEqual([201, 201, 201]);
    expect(new Set(created.map(({ headers }) => headers.location)).size).toBe(3);
  });

  it('is the same one for the key that replaces the API key, and for the old one', async () => {
    const keys = service.app.get(ApiKeyService);
    const texts = [(await keys.create('rotated')).text, (await keys.rotate('rotated', 60_000)).text];
    const as = (text: string) => ({ 'Idempotency-Key': 'rotated', Authorization: `Bearer ${text}` });
    const created = [];
    for (const text of [...texts, ...texts]) created.push(await service.add(newPetJson(), as(text)));
    expect(new Set(created.map(({ body }) => body)).size).toBe(1);
    const replayed = created.map(({ headers }) => headers['idempotent-replayed']);
    expect(replayed).toEqual([undefined, 'true', 'true', 'true']);
  });

  it('may be used again after a rejected body', async () => {
    const headers = { 'Idempotency-Key': 'rejected' };
    expectError(await service.add('{}', headers), 'missing_field');
    expect((await service.add(newPetJson(), headers)).status).toBe(201);
  });
});

it('one request more than MAX_WAITING is 503 at once', async () => {
  const store = await sqlite.create();
  const service = await Service.start({ DATABASE_URL: store.url, MAX_WAITING: '3' });
  const other = new Libsql(store.url.slice('sqlite:'.length));
  other.exec('BEGIN IMMEDIATE');
  let hasFinished = false;
  const pending = Array.from({ length: 3 }, () => service.add(newPetJson()).finally(() => (hasFinished = true)));
  await service.send('/health/live');
  const rejected = await service.add(newPetJson());
  expectError(rejected, 'service_unavailable');
  expect(rejected.headers['retry-after']).toBe('1');
  expect((await service.send('/health/ready')).status).toBe(200);
  expect(hasFinished).toBe(false);
  other.exec('ROLLBACK');
  expect((await Promise.all(pending)).map(({ status }) => status)).toEqual([201, 201, 201]);
  other.close();
  await service.stop();
  await store.remove();
});
