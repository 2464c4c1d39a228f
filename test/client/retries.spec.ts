import { getEventListeners } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PetStore, PetStoreError, type PetStoreOptions, type Retry } from '../../client/petstore.js';
import { FakeFetch, failure, html, response, type Step } from './fake-fetch.js';

const BELLA = { id: 1n, name: 'Bella', categoryId: 42n, status: 'available' };
const NEW = { name: 'Bella', categoryId: 42 };

const lost = new TypeError('fetch failed', {
  cause: Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }),
});

let retries: Retry[];

beforeEach(() => {
  retries = [];
  jest.useFakeTimers({ now: Date.UTC(2026, 10, 29), doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
});

afterEach(() => {
  jest.restoreAllMocks();
  // Whatever happened, nothing is left behind.
  expect(jest.getTimerCount()).toBe(0);
  jest.useRealTimers();
});

/** A client to which these steps happen. */
function client(steps: readonly Step[], options: Partial<PetStoreOptions> = {}): { store: PetStore; fake: FakeFetch } {
  const fake = new FakeFetch(steps);
  const onRetry = (retry: Retry) => retries.push(retry);
  const store = new PetStore({ baseUrl: 'http://shop/v1', apiKey: 'key', fetch: fake.fetch, onRetry, ...options });
  return { store, fake };
}

/** The outcome of a call, with all its waits skipped, and how long it took by the clock, in milliseconds. */
async function outcome(call: Promise<unknown>): Promise<{ value?: unknown; error?: unknown; took: number }> {
  const begun = performance.now();
  let took: number | undefined;
  const ended = () => (took = Math.round(performance.now() - begun));
  const settled = call.then(
    (value) => ({ value, took: ended() }),
    (error: unknown) => ({ error, took: ended() }),
  );
  while (took === undefined) {
    await new Promise((resolve) => setImmediate(resolve));
    if (took === undefined && jest.getTimerCount() > 0) await jest.advanceTimersToNextTimerAsync();
  }
  return settled;
}

describe('a request is sent again, with the same body and Idempotency-Key,', () => {
  it.each<[what: string, step: Step, code: string]>([
    ['a lost connection', lost, 'network'],
    ['a response that does not come', 'hangs', 'timeout'],
    ['a body that does not end', 'hangs in the body', 'timeout'],
    ['a cut body', response(201, '{"id":1,"name":"Bel'), 'unexpected_response'],
    ['a body that is no pet', response(201, '{"id":1}'), 'unexpected_response'],
    ['the page of a portal', html(200), 'unexpected_response'],
    ['408', failure(408, 'request_timeout'), 'request_timeout'],
    ['409 of a twin in flight', failure(409, 'idempotency_in_progress'), 'idempotency_in_progress'],
    ['429', failure(429, 'rate_limited'), 'rate_limited'],
    ['500', failure(500, 'internal_error'), 'internal_error'],
    ['502 of a proxy', html(502), 'unexpected_response'],
    ['503', failure(503, 'service_unavailable'), 'service_unavailable'],
    ['503 of a proxy', html(503), 'unexpected_response'],
    ['504 of a proxy', html(504), 'unexpected_response'],
  ])('after %s', async (_what, step, code) => {
    const { store, fake } = client([step, response(201)]);
    expect(await outcome(store.createPet(NEW))).toMatchObject({ value: BELLA });
    expect(fake.sent('Idempotency-Key')).toEqual(Array(2).fill(fake.sent('Idempotency-Key')[0]));
    expect(fake.requests.map(({ body }) => body)).toEqual(Array(2).fill('{"name":"Bella","categoryId":42}'));
    expect(retries).toMatchObject([{ tries: 1, error: { code, tries: 1 } }]);
  });

  it('as often as `retries` says, and then the last error is thrown', async () => {
    const { store, fake } = client([failure(503, 'service_unavailable')], { retries: 2 });
    const { error } = await outcome(store.createPet(NEW));
    expect(error).toMatchObject({ code: 'service_unavailable', status: 503, requestId: 'request-7', tries: 3 });
    expect(fake.requests).toHaveLength(3);
  });

  it('which pages are, too', async () => {
    const { store } = client([html(502), response(200, '[]')]);
    expect(await outcome(store.pages().next())).toMatchObject({ value: { value: { pets: [], cursor: undefined } } });
  });
});

describe('a request is not sent again', () => {
  it.each<[what: string, step: Step, code: string, status: number]>([
    ['400', failure(400, 'invalid_field'), 'invalid_field', 400],
    ['401', failure(401, 'api_key_invalid'), 'api_key_invalid', 401],
    ['404', failure(404, 'pet_not_found'), 'pet_not_found', 404],
    ['409 of another kind', failure(409, 'conflict'), 'conflict', 409],
    ['409 of a proxy', html(409), 'unexpected_response', 409],
    ['413 of a proxy', html(413), 'unexpected_response', 413],
    ['422', failure(422, 'idempotency_key_reused'), 'idempotency_key_reused', 422],
    ['501', html(501), 'unexpected_response', 501],
    ['a redirect', html(308, { Location: 'https://elsewhere/v1/pets' }), 'unexpected_response', 308],
    ['a code of a later release', failure(400, 'name_taken'), 'name_taken', 400],
    [
      'an error whose status is another one',
      response(400, '{"code":"x","message":"y","status":404}'),
      'unexpected_response',
      400,
    ],
  ])('after %s', async (_what, step, code, status) => {
    const { store, fake } = client([step, response(201)]);
    const { error } = await outcome(store.createPet(NEW));
    expect(error).toBeInstanceOf(PetStoreError);
    expect(error).toMatchObject({ code, status, tries: 1 });
    expect([fake.requests.length, retries]).toEqual([1, []]);
  });

  it('after a second 500', async () => {
    const { store, fake } = client([failure(500, 'internal_error'), html(503), failure(500, 'internal_error')]);
    expect((await outcome(store.createPet(NEW))).error).toMatchObject({ code: 'internal_error', tries: 3 });
    expect(fake.requests).toHaveLength(3);
  });
});

describe('the wait before the next try', () => {
  it.each([
    ['seconds', '7', 7_000],
    ['nothing', '0', 0],
    ['a date', 'Sun, 29 Nov 2026 00:00:09 GMT', 9_000],
    ['a date in the past', 'Sun, 29 Nov 2020 00:00:09 GMT', 0],
  ])('is what Retry-After says: %s', async (_what, value, milliseconds) => {
    const { store } = client([html(503, { 'Retry-After': value }), response(201)]);
    expect(await outcome(store.createPet(NEW))).toMatchObject({ value: BELLA, took: milliseconds });
    expect(retries).toMatchObject([{ delay: milliseconds }]);
  });

  it.each(['soon', '-1', '1.5', ''])('is random if Retry-After is "%s"', async (value) => {
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    const { store } = client([html(503, { 'Retry-After': value }), response(201)]);
    await outcome(store.createPet(NEW));
    expect(retries).toMatchObject([{ delay: 250 }]);
  });

  it('is anything up to a limit that doubles each time, until 8 s', async () => {
    for (const [random, limits] of [
      [0, [0, 0, 0, 0, 0, 0]],
      [1, [500, 1_000, 2_000, 4_000, 8_000, 8_000]],
    ] as const) {
      retries = [];
      jest.spyOn(Math, 'random').mockReturnValue(random);
      await outcome(client([lost], { retries: 6 }).store.createPet(NEW));
      expect(retries.map(({ delay }) => delay)).toEqual(limits);
    }
  });
});

describe('the deadline', () => {
  it('ends a call whose tries all time out', async () => {
    const { store, fake } = client(['hangs'], { retries: 100, timeout: 10_000, deadline: 25_000 });
    const { error, took } = await outcome(store.createPet(NEW));
    expect(error).toMatchObject({ code: 'timeout', status: undefined, tries: fake.requests.length });
    expect(took).toBeLessThanOrEqual(25_000);
    expect(fake.requests.every(({ signal }) => signal.aborted)).toBe(true);
  });

  it.each<Step>(['hangs', 'hangs in the body'])('cuts the timeout of the last try: %s', async (step) => {
    const { store } = client([step], { deadline: 3_000 });
    expect(await outcome(store.getPet(1))).toMatchObject({ error: { code: 'timeout', tries: 1 }, took: 3_000 });
  });

  it('is not waited for: the error is thrown at once if the next try would come after it', async () => {
    const { store } = client([failure(429, 'rate_limited', { 'Retry-After': '60' })]);
    const { error, took } = await outcome(store.createPet(NEW));
    expect(error).toMatchObject({ code: 'rate_limited', status: 429, tries: 1 });
    expect([took, retries]).toEqual([0, []]);
  });

  it('covers the function that gives the API key', async () => {
    const { store, fake } = client([response(201)], { apiKey: () => new Promise(() => undefined) });
    expect(await outcome(store.createPet(NEW))).toMatchObject({ error: { code: 'timeout', tries: 0 }, took: 60_000 });
    expect(fake.requests).toEqual([]);
  });
});

describe('a signal', () => {
  const reason = new Error('The user has left.');

  it('that is aborted already prevents the request', async () => {
    const { store, fake } = client([response(201)]);
    await expect(store.createPet(NEW, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    await expect(store.pages({ signal: AbortSignal.abort(reason) }).next()).rejects.toBe(reason);
    expect(fake.requests).toEqual([]);
  });

  it.each<[what: string, step: Step, options: Partial<PetStoreOptions>]>([
    ['the response', 'hangs', {}],
    ['the body', 'hangs in the body', {}],
    ['the next try', html(503, { 'Retry-After': '30' }), {}],
    ['the API key', response(201), { apiKey: () => new Promise(() => undefined) }],
  ])('ends a call that waits for %s, with its reason', async (_what, step, options) => {
    const controller = new AbortController();
    const { store, fake } = client([step], options);
    const call = store.createPet(NEW, { signal: controller.signal });
    await new Promise((resolve) => setImmediate(resolve));
    const sent = fake.requests.length;
    controller.abort(reason);
    await expect(call).rejects.toBe(reason);
    expect(fake.requests).toHaveLength(sent);
    expect(retries).toHaveLength(step instanceof Response && sent > 0 ? 1 : 0);
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });

  it('has no listener after a call that succeeds', async () => {
    const { signal } = new AbortController();
    await outcome(client([html(502), response(201)]).store.createPet(NEW, { signal }));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });
});

describe('an API key', () => {
  it('that a function gives is asked for again once after a 401, at once', async () => {
    const keys = ['old', 'new'];
    const expired = failure(401, 'api_key_expired');
    const { store, fake } = client([html(502), expired, response(201)], { apiKey: () => keys.shift() });
    jest.spyOn(Math, 'random').mockReturnValue(0);
    expect(await outcome(store.createPet(NEW))).toMatchObject({ value: BELLA, took: 0 });
    expect(fake.sent('Authorization')).toEqual(['Bearer old', 'Bearer old', 'Bearer new']);
    expect(new Set(fake.sent('Idempotency-Key')).size).toBe(1);
    expect(retries).toMatchObject([{ error: { status: 502 } }, { delay: 0, error: { code: 'api_key_expired' } }]);
  });

  it('is not asked for a third time', async () => {
    let asked = 0;
    const apiKey = () => Promise.resolve(`key-${(asked += 1)}`);
    const { store } = client([failure(401, 'api_key_invalid')], { apiKey });
    expect((await outcome(store.createPet(NEW))).error).toMatchObject({ code: 'api_key_invalid', tries: 2 });
    expect(asked).toBe(2);
  });

  it('is not sent again if it is the same', async () => {
    const { store } = client([failure(401, 'api_key_invalid')], { apiKey: () => 'same' });
    expect((await outcome(store.createPet(NEW))).error).toMatchObject({ code: 'api_key_invalid', tries: 1 });
  });

  it('whose function fails fails the call, with its error', async () => {
    const reason = new Error('The vault is closed.');
    const { store, fake } = client([response(201)], { apiKey: () => Promise.reject(reason) });
    expect((await outcome(store.createPet(NEW))).error).toBe(reason);
    expect(fake.requests).toEqual([]);
  });
});
