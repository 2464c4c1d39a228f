import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectError } from '../../support/error-body.js';
import { Answer, Service } from '../../support/service.js';

const ORIGIN = 'https://shop.example';
const PREFLIGHT = {
  Origin: ORIGIN,
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers': 'authorization',
};

function corsHeaders({ headers }: Answer): string[] {
  return Object.keys(headers).filter((name) => name.startsWith('access-control-'));
}

describe('CORS if nothing is set', () => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start();
  });

  afterAll(() => service.stop());

  it('is off: a preflight is a request like any other, and needs the key', async () => {
    expectError(
      await service.send('/v1/pets', { method: 'OPTIONS', headers: PREFLIGHT, key: false }),
      'api_key_missing',
    );
    const answer = await service.send('/v1/pets', { method: 'OPTIONS', headers: PREFLIGHT });
    expect(answer.status).toBe(204);
    expect(answer.headers.allow).toBe('GET, HEAD, POST, OPTIONS');
    expect(corsHeaders(answer)).toEqual([]);
  });

  it('says nothing to any origin', async () => {
    for (const Origin of [ORIGIN, 'null', 'http://127.0.0.1']) {
      expect(corsHeaders(await service.send('/v1/pets', { headers: { Origin } }))).toEqual([]);
    }
  });
});

describe('CORS with CORS_ORIGINS', () => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start({ CORS_ORIGINS: `${ORIGIN},http://localhost:5173` });
    await service.add('{"name":"Bella","categoryId":1}');
  });

  afterAll(() => service.stop());

  it.each([ORIGIN, 'http://localhost:5173'])('answers a preflight of %s before it looks at the key', async (Origin) => {
    const headers = { ...PREFLIGHT, Origin };
    const answer = await service.send('/v1/pets', { method: 'OPTIONS', headers, key: false });
    expect(answer).toMatchObject({ status: 204, body: '' });
    expect(answer.headers).toMatchObject({
      'access-control-allow-origin': Origin,
      'access-control-allow-methods': 'GET,HEAD,POST',
      'access-control-allow-headers': 'Authorization,Content-Type,Idempotency-Key,X-Request-Id',
      'access-control-max-age': '600',
      'x-content-type-options': 'nosniff',
    });
    expect(answer.headers['x-request-id']).toMatch(/./);
    expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
    expect(answer.headers['content-length']).toBeUndefined();
    expect(answer.headers.vary).toMatch(/\bOrigin\b/);
  });

  it.each([
    'https://evil.example',
    'https://shop.example.evil.example',
    'http://shop.example',
    'https://shop.example:8443',
    'null',
    'HTTPS://SHOP.EXAMPLE',
  ])('takes a preflight of %s for a request like any other', async (Origin) => {
    const headers = { ...PREFLIGHT, Origin };
    const refused = await service.send('/v1/pets', { method: 'OPTIONS', headers, key: false });
    expectError(refused, 'api_key_missing');
    expect(corsHeaders(refused)).toEqual([]);
    expect((await service.send('/v1/pets', { method: 'OPTIONS', headers })).headers.allow).toMatch(/GET/);
  });

  it('takes an OPTIONS of an allowed origin that is no preflight for a request like any other', async () => {
    const headers = { Origin: ORIGIN };
    expectError(await service.send('/v1/pets', { method: 'OPTIONS', headers, key: false }), 'api_key_missing');
    expect((await service.send('/v1/pets/1', { method: 'OPTIONS', headers })).headers.allow).toBe('GET, HEAD, OPTIONS');
  });

  it('exposes the headers of answers, errors included, to allowed origins', async () => {
    for (const path of ['/v1/pets', '/v1/pets/1', '/v1/pets/999', '/v1/nothing', '/v1/pets?limit=0']) {
      for (const key of [true, false]) {
        const answer = await service.send(path, { headers: { Origin: ORIGIN }, key });
        expect(answer.headers['access-control-allow-origin']).toBe(ORIGIN);
        expect(answer.headers['access-control-expose-headers']?.split(',')).toEqual(
          expect.arrayContaining([
            'Link',
            'Location',
            'Deprecation',
            'Sunset',
            'X-Request-Id',
            'Retry-After',
            'WWW-Authenticate',
            'Allow',
            'Idempotent-Replayed',
          ]),
        );
        expect(answer.headers.vary).toMatch(/\bOrigin\b/);
      }
    }
  });

  it('keeps the headers of the answer itself', async () => {
    const answer = await service.send('/v1/pets/1', { headers: { Origin: ORIGIN } });
    expect(answer.headers).toMatchObject({
      'content-type': 'application/json',
      'content-length': String(Buffer.byteLength(answer.body)),
      'cache-control': 'no-store',
      deprecation: '@1795132800',
    });
    for (const name of ['X-Request-Id', 'X-Content-Type-Options', 'Link', 'Deprecation', 'Content-Type']) {
      expect(answer.rawHeaders.filter((each) => each === name)).toHaveLength(1);
    }
  });

  it('lets no other origin read an answer', async () => {
    const answer = await service.send('/v1/pets', { headers: { Origin: 'https://evil.example' } });
    expect(answer.status).toBe(200);
    expect(answer.headers['access-control-allow-origin']).toBeUndefined();
  });
});
