import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Connection } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { Service } from '../support/service.js';
import { shortened } from '../support/shortened.js';
import { operation, sendTo } from './requests.js';

const DAY = 86_400_000;
const SIGNALS = {
  deprecation: '@1795132800',
  sunset: 'Thu, 05 Dec 2030 00:00:00 GMT',
  link: '</docs>; rel="deprecation"; type="text/html", </v1/pets>; rel="successor-version"',
};
const getPet = operation('getPet');

let service: Service;

beforeAll(async () => {
  service = await Service.start();
  await service.add(newPetJson());
});

afterAll(() => service.stop());

describe('an id of no pet', () => {
  it.each(getPet.invalid.map((request) => [shortened(request.target), request] as const))(
    '%s is 404, and deprecated as every response of the operation',
    async (_short, request) => {
      const response = await sendTo(service, getPet, request);
      expectError(response, request.code);
      expect(response.headers).toMatchObject(SIGNALS);
    },
  );

  it.each(['1.0', '-0', '%2B1', '1%20', '1%0A', '0x1', '1;a=b', '1%2F', '..%2F1', '%D9%A3', '%zz', "1'%20OR%20'1'='1"])(
    '%s is 404, never 400',
    async (id) => {
      expectError(await service.send(`/v1/pets/${id}`), 'pet_not_found');
    },
  );
});

describe('the headers Deprecation, Sunset and Link', () => {
  it.each([
    ['GET', '/v1/pets/1', '', 200],
    ['HEAD', '/v1/pets/1', '', 200],
    ['OPTIONS', '/v1/pets/1', '', 204],
    ['GET', '/v1/pets/1?a=b', '', 400],
    ['GET', '/v1/pets/1', 'Authorization: Bearer nobody', 401],
    ['GET', '/v1/pets/%zz', 'Authorization: Bearer nobody', 401],
    ['PROPFIND', '/v1/pets/1', '', 405],
    ['GET', '/v1/pets/1', 'Accept: text/html', 406],
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
  it.each<[string, string]>([...others, ['GET', '/v1/pets/'], ['GET', '/v1/pets/1/owner'], ['GET', '/docs']])(
    'are not on the response to %s %s',
    async (method, target) => {
      for (const key of [true, false]) {
        const { headers } = await service.send(target, { method, key });
        expect([headers.deprecation, headers.sunset]).toEqual([undefined, undefined]);
        expect(headers.link ?? '').not.toContain('deprecation');
      }
    },
  );
});

describe('the date of removal', () => {
  afterEach(() => {
    jest.useRealTimers();
  });

  /** Starts the service at a time, lets days pass, and returns how often the log warned. */
  async function warnings(start: string, days: number): Promise<number> {
    jest.useFakeTimers({
      now: new Date(start),
      doNotFake: ['setImmediate', 'nextTick', 'queueMicrotask', 'setTimeout'],
    });
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

  it('is in the OpenAPI document', () => {
    const { paths } = JSON.parse(service.contract().json) as {
      paths: Record<string, { get?: { 'x-sunset': string; deprecated?: boolean } }>;
    };
    const documented = paths[getPet.path]?.get;
    expect(documented?.deprecated).toBe(true);
    expect(Date.parse(documented?.['x-sunset'] ?? '')).toBe(Date.parse(SIGNALS.sunset));
  });
});
