import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiKeyService } from '../../../../src/application/keys/api-key.service.js';
import { Answer, Ask, Service } from '../../../support/service.js';

const codeOf = (answer: Answer) =>
  answer.status < 400 ? answer.status : (JSON.parse(answer.body) as { code: string }).code;

const withKey = (key: string): Ask => ({ headers: { Authorization: `Bearer ${key}` } });

describe('without limits', () => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start();
  });

  afterAll(() => service.stop());

  it('any number of requests and of failures is answered, and no answer speaks of limits', async () => {
    for (let i = 0; i < 50; i++) expect(codeOf(await service.send('/v1/pets', { key: false }))).toBe('api_key_missing');
    for (let i = 0; i < 50; i++) {
      const answer = await service.send('/v1/pets');
      expect(answer.status).toBe(200);
      expect(answer.headers).not.toHaveProperty('ratelimit');
    }
  });
});

describe('a limit of requests', () => {
  let service: Service;
  let other: string;

  beforeAll(async () => {
    service = await Service.start({ RATE_LIMIT: '3' });
    other = (await service.app.get(ApiKeyService).create('other')).text;
  });

  afterAll(() => service.stop());

  it('holds for each key by itself, and every answer tells what is left', async () => {
    for (const left of [2, 1, 0]) {
      const answer = await service.send('/v1/pets');
      expect(answer.status).toBe(200);
      expect(answer.headers['ratelimit-policy']).toBe('"key";q=3;w=60');
      expect(answer.headers.ratelimit).toMatch(new RegExp(`^"key";r=${left};t=(60|59)$`));
    }
    const refused = await service.send('/v1/pets');
    expect(refused.status).toBe(429);
    expect(refused.headers.ratelimit).toMatch(/^"key";r=0;t=\d+$/);
    expect(refused.headers['retry-after']).toMatch(/^(60|59|58)$/);
    expect(JSON.parse(refused.body)).toEqual({
      code: 'rate_limited',
      message: `This API key may make 3 requests in a minute; try again in ${refused.headers['retry-after']} seconds.`,
      status: 429,
    });
    expect((await service.send('/v1/pets', withKey(other))).status).toBe(200);
  });

  it('comes after the key and before all else', async () => {
    expect(codeOf(await service.send('/v1/pets', { key: false }))).toBe('api_key_missing');
    expect(codeOf(await service.send('/v1/nowhere'))).toBe('rate_limited');
    expect(codeOf(await service.send('/v1/pets', { method: 'DELETE' }))).toBe('rate_limited');
    expect(codeOf(await service.send('/v1/pets', { headers: { Accept: 'text/html' } }))).toBe('rate_limited');
    expect(codeOf(await service.send('/v1/pets?limit=x'))).toBe('rate_limited');
    expect(codeOf(await service.add('{'))).toBe('rate_limited');
    expect((await service.send('/v1/pets/x')).headers.deprecation).toBeDefined();
    expect((await service.send('/v1/pets', withKey(other))).body).toBe('[]');
  });

  it('does not hold for what needs no key', async () => {
    expect((await service.send('/health/ready', { key: false })).status).toBe(200);
    expect((await service.send('/docs', { key: false })).status).toBe(200);
  });
});

describe('a limit of failures to authenticate', () => {
  let service: Service;

  afterEach(() => service.stop());

  it('refuses any further failure of the address, and keys not accepted before without looking at them', async () => {
    service = await Service.start({ AUTH_FAILURE_LIMIT: '3' });
    const fresh = (await service.app.get(ApiKeyService).create('fresh')).text;
    expect((await service.send('/v1/pets')).status).toBe(200);
    expect(codeOf(await service.send('/v1/pets', { key: false }))).toBe('api_key_missing');
    expect(codeOf(await service.send('/v1/pets', withKey('guess-1')))).toBe('api_key_invalid');
    expect(codeOf(await service.send('/v1/nowhere', withKey('guess-2')))).toBe('api_key_invalid');
    const refused = await service.send('/v1/pets', withKey('guess-3'));
    expect(refused.status).toBe(429);
    expect(refused.headers['retry-after']).toMatch(/^(60|59)$/);
    expect(refused.headers.ratelimit).toMatch(/^"address";r=0;t=(60|59)$/);
    expect(refused.headers['ratelimit-policy']).toBe('"address";q=3;w=60');
    expect(refused.headers).not.toHaveProperty('www-authenticate');
    expect(JSON.parse(refused.body)).toMatchObject({
      code: 'rate_limited',
      message: expect.stringMatching(
        /^An address may fail to authenticate 3 times in a minute; try again in \d+ seconds\.$/,
      ),
    });
    expect(codeOf(await service.send('/v1/pets', { key: false }))).toBe('rate_limited');
    expect(codeOf(await service.send('/v1/pets', withKey(fresh)))).toBe('rate_limited');
    expect((await service.send('/v1/pets')).status).toBe(200);
  });

  it('ends the grace of a key that is revoked', async () => {
    service = await Service.start({ AUTH_FAILURE_LIMIT: '1' });
    expect((await service.send('/v1/pets')).status).toBe(200);
    await service.app.get(ApiKeyService).revoke('test');
    expect(codeOf(await service.send('/v1/pets'))).toBe('api_key_revoked');
    expect(codeOf(await service.send('/v1/pets'))).toBe('rate_limited');
  });
});
