import { beforeAll, describe, expect, it } from '@jest/globals';
import { expectError } from '../support/error-body.js';
import { newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { type Answer, Service } from '../support/service.js';

const ORIGIN = 'https://shop.example';

const PREFLIGHT = {
  Origin: ORIGIN,
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'authorization',
};

const corsHeaders = ({ headers }: Answer) => Object.keys(headers).filter((name) => name.startsWith('access-control-'));

const list = (value: unknown) => String(value).split(/, ?/);

it('CORS without CORS_ORIGINS is off: a preflight is a request like any other, and needs the key', async () => {
  const service = await Service.start();
  const preflight = { method: 'OPTIONS', headers: PREFLIGHT };
  expectError(await service.send('/v1/pets', { ...preflight, key: false }), 'api_key_missing');
  for (const response of [
    await service.send('/v1/pets', preflight),
    await service.send('/v1/pets', { headers: { Origin: ORIGIN } }),
  ]) {
    expect(response.status).toBeLessThan(300);
    expect(corsHeaders(response)).toEqual([]);
  }
  await service.stop();
});

describe('CORS with CORS_ORIGINS', () => {
  const service = Service.forSuite({ CORS_ORIGINS: `${ORIGIN},capacitor://localhost` });

  beforeAll(async () => {
    await service.add(newPetJson());
  });

  it.each([ORIGIN, 'capacitor://localhost'])('answers a preflight of %s without a key', async (Origin) => {
    const asked = 'authorization,idempotency-key,traceparent,sentry-trace';
    const headers = { ...PREFLIGHT, Origin, 'Access-Control-Request-Headers': asked };
    const response = await service.send('/v1/pets', { method: 'OPTIONS', headers, key: false });
    expect(response).toMatchObject({
      status: 204,
      body: '',
      headers: { 'access-control-allow-origin': Origin, 'access-control-allow-headers': asked },
    });
    const methods = new Set(['HEAD', ...OPERATIONS.map(({ method }) => method)]);
    expect(new Set(list(response.headers['access-control-allow-methods']))).toEqual(methods);
    expect(response.headers['access-control-allow-credentials']).toBeUndefined();
    expect(response.headers['x-request-id']).toMatch(/./);
    expect(response.headers.vary).toMatch(/\bOrigin\b/);
  });

  it('says in a preflight that the path of getPet is deprecated', async () => {
    const headers = { ...PREFLIGHT, Origin: ORIGIN };
    const response = await service.send('/v1/pets/1', { method: 'OPTIONS', headers, key: false });
    expect(response).toMatchObject({ status: 204, headers: { deprecation: '@1795132800' } });
  });

  it.each(['https://shop.example.evil.example', 'http://shop.example'])('tells nothing to %s', async (Origin) => {
    const preflight = { method: 'OPTIONS', headers: { ...PREFLIGHT, Origin } };
    expectError(await service.send('/v1/pets', { ...preflight, key: false }), 'api_key_missing');
    const response = await service.send('/v1/pets', { headers: { Origin } });
    expect(response.status).toBe(200);
    expect(response.headers['access-control-allow-origin']).toBeUndefined();
  });

  it('does not take OPTIONS without Access-Control-Request-Method for a preflight', async () => {
    const options = { method: 'OPTIONS', headers: { Origin: ORIGIN } };
    expectError(await service.send('/v1/pets', { ...options, key: false }), 'api_key_missing');
    expect((await service.send('/v1/pets', options)).headers.allow).toMatch(/GET/);
  });

  /** The names of all response headers of the document, and Allow. */
  const documented = () => {
    const responses = service
      .contract()
      .operations()
      .flatMap((each) => Object.values(each.responses));
    return ['Allow', ...responses.flatMap(({ headers = {} }) => Object.keys(headers))];
  };

  it.each(['/v1/pets', '/v1/pets/1', '/v1/pets/999', '/v1/nothing', '/v1/pets?limit=0'])(
    'lets the pages of an allowed origin read the response of %s and its headers, 401 included',
    async (path) => {
      for (const key of [true, false]) {
        const { headers } = await service.send(path, { headers: { Origin: ORIGIN }, key });
        expect(headers).toMatchObject({ 'access-control-allow-origin': ORIGIN, 'cache-control': 'no-store' });
        expect(headers.vary).toMatch(/\bOrigin\b/);
        expect(list(headers['access-control-expose-headers'])).toEqual(expect.arrayContaining(documented()));
      }
    },
  );
});
