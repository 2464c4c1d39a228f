import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import Libsql from 'libsql';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { Service } from '../../support/service.js';
import { lastingKinds, storeKinds, TestStore } from '../../support/stores.js';

const BELLA = { name: 'Bella', categoryId: 42 };

describe.each(storeKinds)('Idempotency-Key on $name', (kind) => {
  let store: TestStore;
  let service: Service;

  const count = async () => (JSON.parse((await service.send('/v1/pets?limit=100')).body) as unknown[]).length;

  beforeAll(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url });
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  it('answers a request that is sent again with the same 201, byte for byte, and says so', async () => {
    const first = await service.add(BELLA, { 'Idempotency-Key': 'again' });
    expect(first.status).toBe(201);
    expect(first.headers).not.toHaveProperty('idempotent-replayed');
    const before = await count();
    const second = await service.add('{"categoryId":4.2e1, "name":"Bella", "status":"available"}', {
      'Idempotency-Key': 'again',
    });
    expect(second).toMatchObject({ status: 201, body: first.body });
    expect(second.headers).toMatchObject({ 'idempotent-replayed': 'true', location: first.headers.location });
    expect(await count()).toBe(before);
  });

  it('refuses the key with another payload by 422, and adds nothing', async () => {
    await service.add(BELLA, { 'Idempotency-Key': 'other' });
    const before = await count();
    const answer = await service.add({ ...BELLA, categoryId: 43 }, { 'Idempotency-Key': 'other' });
    expect(answer.status).toBe(422);
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'idempotency_key_reused', status: 422 });
    expect(await count()).toBe(before);
  });

  it('takes the same key of another API key for another one, and keys that differ in case for two', async () => {
    const { text } = await service.app.get(ApiKeyService).create('another');
    const mine = await service.add(BELLA, { 'Idempotency-Key': 'Mine' });
    const others = await service.add(
      { ...BELLA, name: 'Max' },
      { 'Idempotency-Key': 'Mine', Authorization: `Bearer ${text}` },
    );
    const lower = await service.add({ ...BELLA, name: 'Luna' }, { 'Idempotency-Key': 'mine' });
    expect([mine.status, others.status, lower.status]).toEqual([201, 201, 201]);
    expect(new Set([mine.body, others.body, lower.body]).size).toBe(3);
  });

  it('adds one pet for 100 twins at the same time, and answers all of them with it', async () => {
    const before = await count();
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => service.add(BELLA, { 'Idempotency-Key': 'twins' })),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(1);
    expect(answers.filter(({ headers }) => headers['idempotent-replayed'] === undefined)).toHaveLength(1);
    expect(await count()).toBe(before + 1);
  });

  it('does not remember a body that was refused', async () => {
    expect((await service.add({ name: 'Bella' }, { 'Idempotency-Key': 'refused' })).status).toBe(400);
    expect((await service.add(BELLA, { 'Idempotency-Key': 'refused' })).status).toBe(201);
  });

  it.each([
    ['is empty', ['']],
    ['has a space', ['a b']],
    ['is longer than 255 characters', ['k'.repeat(256)]],
    ['is given twice', ['one', 'two']],
    ['is given twice the same', ['same', 'same']],
  ])('refuses a key that %s by 400, and adds nothing', async (_what, keys) => {
    const before = await count();
    const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': keys };
    const answer = await service.send('/v1/pets', { method: 'POST', headers, body: JSON.stringify(BELLA) });
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'invalid_idempotency_key', status: 400 });
    expect(await count()).toBe(before);
  });

  it('takes a key of 255 visible characters', async () => {
    const key = '!~'.padEnd(255, 'k');
    const answers = [
      await service.add(BELLA, { 'Idempotency-Key': key }),
      await service.add(BELLA, { 'Idempotency-Key': key }),
    ];
    expect(answers[1]).toMatchObject({ status: 201, body: answers[0]?.body });
  });
});

describe.each(lastingKinds)('Idempotency-Key on $name, across instances', (kind) => {
  it('is known to another instance, and after a restart', async () => {
    const store = await kind.create();
    const one = await Service.start({ DATABASE_URL: store.url, API_KEYS: 'shared-key-of-the-test' });
    const two = await Service.start({ DATABASE_URL: store.url, API_KEYS: 'shared-key-of-the-test' });
    const headers = { 'Idempotency-Key': 'k', Authorization: 'Bearer shared-key-of-the-test' };
    const first = await one.add(BELLA, headers);
    await one.stop();
    expect(await two.add(BELLA, headers)).toMatchObject({ status: 201, body: first.body });
    await two.stop();
    const three = await Service.start({ DATABASE_URL: store.url, API_KEYS: 'shared-key-of-the-test' });
    expect(await three.add(BELLA, headers)).toMatchObject({ status: 201, body: first.body });
    await three.stop();
    await store.remove();
  });
});

describe('a write that another process holds up on SQLite', () => {
  const [sqlite] = lastingKinds;
  let store: TestStore;
  let service: Service;
  let other: Libsql.Database;

  beforeAll(async () => {
    if (!sqlite) throw new Error('There is no SQLite to test on.');
    store = await sqlite.create();
    service = await Service.start({ DATABASE_URL: store.url });
    other = new Libsql(store.url.slice('sqlite:'.length));
  });

  afterAll(async () => {
    other.close();
    await service.stop();
    await store.remove();
  });

  it('waits for the lock', async () => {
    other.exec('BEGIN IMMEDIATE');
    const answer = service.add(BELLA);
    await expect(service.send('/v1/pets')).resolves.toMatchObject({ status: 200, body: '[]' });
    other.exec('ROLLBACK');
    await expect(answer).resolves.toMatchObject({ status: 201 });
  });

  it('answers 503 if the lock is held too long, 409 to a twin before that, reads on, and resumes by itself', async () => {
    other.exec('BEGIN IMMEDIATE');
    const first = service.add(BELLA, { 'Idempotency-Key': 'held' });
    // A turn of the event loop of both sides puts the first before its twin.
    await service.send('/v1/pets');
    const twin = await service.add(BELLA, { 'Idempotency-Key': 'held' });
    expect(twin.headers['retry-after']).toBe('1');
    expect(JSON.parse(twin.body)).toMatchObject({ code: 'idempotency_in_progress', status: 409 });
    expect((await service.send('/v1/pets')).status).toBe(200);
    const answer = await first;
    expect(answer.headers['retry-after']).toBe('1');
    expect(JSON.parse(answer.body)).toMatchObject({ code: 'service_unavailable', status: 503 });
    other.exec('ROLLBACK');
    expect((await service.add(BELLA, { 'Idempotency-Key': 'held' })).status).toBe(201);
  });
});
