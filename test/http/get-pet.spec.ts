import { afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { PetIdPipe } from '../../src/adapters/http/pets/parameters.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { Authenticator } from '../../src/application/keys/authenticator.js';
import { Connection } from '../support/connection.js';
import { newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { Service } from '../support/service.js';
import { operation } from './requests.js';

const DAY = 86_400_000;
const SIGNALS = {
  deprecation: '@1795132800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: '</docs>; rel="deprecation"; type="text/html", </v1/pets>; rel="successor-version"',
};
const getPet = operation('getPet');

const service = Service.forSuite();

beforeAll(async () => {
  await service.add(newPetJson());
});

describe('the headers Deprecation, Sunset and Link', () => {
  it.each([
    ['GET', '/v1/pets/1', '', 200],
    ['HEAD', '/v1/pets/1', '', 200],
    ['OPTIONS', '/v1/pets/1', '', 204],
    ['GET', '/v1/pets/2', '', 404],
    ['GET', '/v1/pets/1?a=b', '', 400],
    ['GET', '/v1/pets/1', 'Authorization: Bearer nobody', 401],
    ['GET', '/v1/pets/%zz', 'Authorization: Bearer nobody', 401],
    ['PROPFIND', '/v1/pets/1', '', 405],
    ['GET', '/v1/pets/1', 'Accept: text/html', 406],
    ['GET', '/v1/pets/1', 'Host: y', 400],
    ['GET', '/v1/pets/1', 'Expect: x', 417],
    ['GET', 'http://x/v1/pets/1', 'Expect: x', 417],
    ['GET', '/v1/pets/1', `X-A: ${'a'.repeat(17_000)}`, 431],
  ])('are on the response to %s %s with "%s", which is %i', async (method, target, header, status) => {
    const key = header.startsWith('Authorization') ? '' : `Authorization: Bearer ${service.key}\r\n`;
    const lines = `${method} ${target} HTTP/1.1\r\nHost: x\r\n${key}${header && `${header}\r\n`}\r\n`;
    const response = await Connection.ask(service.port, lines);
    expect(response.status).toBe(status);
    const names = Object.keys(SIGNALS);
    expect(Object.fromEntries(names.map((name) => [name, response.header(name)]))).toEqual(SIGNALS);
  });

  const others = OPERATIONS.filter(({ path }) => path !== getPet.path).flatMap(({ method, valid, invalid }) =>
    [valid, ...invalid.slice(0, 1)].map((request): [string, string] => [method, request.target]),
  );
  it.each<[string, string]>([
    ...others,
    ['GET', '/v1/pets/'],
    ['GET', '/v1/pets/1/owner'],
    ['GET', '/x/v1/pets/1'],
    ['GET', '/docs'],
  ])('are not on the response to %s %s', async (method, target) => {
    for (const key of [true, false]) {
      const { headers } = await service.send(target, { method, key });
      expect([headers.deprecation, headers.sunset]).toEqual([undefined, undefined]);
      expect(headers.link ?? '').not.toContain('deprecation');
    }
  });
});

it('may have a negative id, which was inserted by hand', () => {
  expect(new PetIdPipe().transform('-7')).toBe(-7n);
});

it('is counted by its key, unlike other operations', async () => {
  const counted = await Service.start();
  for (const target of ['/v1/pets', '/v1/pets/1', '/v1/pets/x']) await counted.send(target);
  await counted.app.get(Authenticator).recordUses();
  expect(await counted.app.get(ApiKeyService).callers()).toMatchObject([{ name: 'test', deprecatedCalls: 2 }]);
  await counted.stop();
});

describe('the date of removal', () => {
  afterEach(() => void jest.useRealTimers());

  /** Starts the service at a time, lets days pass, and returns how often the log warned. */
  async function warnings(start: string, days: number): Promise<number> {
    const doNotFake = ['setImmediate', 'nextTick', 'queueMicrotask', 'setTimeout'] as const;
    jest.useFakeTimers({ now: new Date(start), doNotFake: [...doNotFake] });
    const lines: string[] = [];
    const later = await Service.start({ LOG_LEVEL: 'warn' }, (line) => lines.push(line));
    try {
      jest.advanceTimersByTime(days * DAY);
      expect((await later.send('/v1/pets/1')).status).toBe(404);
    } finally {
      await later.stop();
    }
    return lines.filter((line) => line.includes('5 December 2030')).length;
  }

  it('is warned of daily in the log once it has passed, and the operation still responds', async () => {
    expect(await warnings('2030-12-01T00:00:00Z', 3)).toBe(0);
    expect(await warnings('2030-12-04T12:00:00Z', 3)).toBe(3);
    expect(await warnings('2031-01-01T00:00:00Z', 2)).toBe(3);
  });
});
