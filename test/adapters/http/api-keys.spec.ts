import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ErrorCode } from '../../../src/adapters/http/errors/error-code.js';
import { ApiKeyService } from '../../../src/application/keys/api-key.service.js';
import { keyText } from '../../../src/domain/keys/api-key.js';
import { Connection, WireAnswer } from '../../support/connection.js';
import { expectError } from '../../support/error-body.js';
import { Service } from '../../support/service.js';
import { storeKinds, TestStore } from '../../support/stores.js';

const CONFIGURED = 'a-key.of_ours~16+/==';

const MISSING = 'Bearer realm="petstore"';
const INVALID = 'Bearer realm="petstore", error="invalid_token"';

describe.each(storeKinds)('API keys on $name', (kind) => {
  let store: TestStore;
  let service: Service;
  let keys: ApiKeyService;
  let issued: string;

  beforeAll(async () => {
    store = await kind.create();
    service = await Service.start({ DATABASE_URL: store.url, API_KEYS: CONFIGURED });
    keys = service.app.get(ApiKeyService);
    issued = (await keys.create('issued')).text;
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  /** Lists pets with these Authorization headers. */
  const list = (...authorization: string[]): Promise<WireAnswer> =>
    Connection.ask(
      service.port,
      `GET /v1/pets HTTP/1.1\r\nHost: x\r\n${authorization.map((value) => `Authorization: ${value}\r\n`).join('')}\r\n`,
    );

  function expectChallenge(answer: WireAnswer, code: ErrorCode): void {
    expectError(answer, code);
    expect(answer.header('WWW-Authenticate')).toBe(code === 'api_key_missing' ? MISSING : INVALID);
  }

  it.each(['Bearer', 'bearer', 'BEARER', 'bEaReR', 'Bearer  '])('take the scheme in any case: %s', async (scheme) => {
    expect((await list(`${scheme} ${issued}`)).status).toBe(200);
  });

  it.each([
    ['no header', []],
    ['an empty header', ['']],
    ['Basic', ['Basic YTpi']],
    ['Digest', ['Digest username="a"']],
    ['the key alone', ['KEY']],
    ['a tab behind the scheme', ['Bearer\tKEY']],
    ['another scheme that begins alike', ['BearerToken KEY']],
  ])('answer %s with 401 and a challenge without an error', async (_what, values) => {
    expectChallenge(await list(...values.map((value) => value.replace('KEY', issued))), 'api_key_missing');
  });

  it.each([
    ['the scheme alone', ['Bearer']],
    ['a key of other signs', ['Bearer a b']],
    ['a key with a comma', ['Bearer KEY,']],
    ['a key in quotes', ['Bearer "KEY"']],
    ['two keys in a header', ['Bearer KEY, Bearer KEY']],
    ['two Authorization headers', ['Bearer KEY', 'Bearer KEY']],
    ['a good key and a Basic header behind it', ['Bearer KEY', 'Basic YTpi']],
    ['an unknown key of the right form', [`Bearer ${keyText('0'.repeat(30))}`]],
    ['an unknown key of another form', ['Bearer nobody']],
    ['a key of 10,000 characters', [`Bearer ${'x'.repeat(10_000)}`]],
  ])('answer %s with 401 and error="invalid_token"', async (_what, values) => {
    expectChallenge(await list(...values.map((value) => value.replace('KEY', issued))), 'api_key_invalid');
  });

  it('do not take a key in the query, or in the body', async () => {
    for (const name of ['access_token', 'api_key', 'key']) {
      expectError(await service.send(`/v1/pets?${name}=${issued}`, { key: false }), 'api_key_missing');
    }
    const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
    const body = `access_token=${issued}`;
    expectError(await service.send('/v1/pets', { method: 'POST', key: false, headers, body }), 'api_key_missing');
  });

  it('are refused where one character of them is another', async () => {
    for (let i = 0; i < issued.length; i++) {
      const damaged = issued.slice(0, i) + (issued[i] === 'x' ? 'y' : 'x') + issued.slice(i + 1);
      expectChallenge(await list(`Bearer ${damaged}`), 'api_key_invalid');
    }
  });

  it('have the form pets_, 30 random characters and 6 of a checksum', () => {
    expect(issued).toMatch(/^pets_[0-9A-Za-z]{36}$/);
    expect(keyText(issued.slice(5, 35))).toBe(issued);
  });

  it('stop if they are revoked: at once on a store of one machine, within 5 seconds on any', async () => {
    const { text, key } = await keys.create('to be revoked');
    expect((await list(`Bearer ${text}`)).status).toBe(200);
    const revoked = Date.now();
    await keys.revoke(key.prefix);
    let answer = await list(`Bearer ${text}`);
    if (kind.name === 'memory' || kind.name === 'SQLite') expect(answer.status).toBe(401);
    while (answer.status === 200 && Date.now() < revoked + 5_000) answer = await list(`Bearer ${text}`);
    expectChallenge(answer, 'api_key_revoked');
  });

  it('stop if they expire', async () => {
    const { text } = await keys.create('short', new Date(Date.now() + 400));
    const before = await list(`Bearer ${text}`);
    expect(before.status).toBe(200);
    let answer = before;
    while (answer.status === 200) answer = await list(`Bearer ${text}`);
    expectChallenge(answer, 'api_key_expired');
  });

  it('given by API_KEYS may be of any form of token68', async () => {
    expect((await list(`Bearer ${CONFIGURED}`)).status).toBe(200);
    expectChallenge(await list(`Bearer ${CONFIGURED}=`), 'api_key_invalid');
    expectChallenge(await list(`Bearer ${CONFIGURED.toUpperCase()}`), 'api_key_invalid');
  });

  it.each([
    ['a broken body', 'POST /v1/pets', 'Content-Type: application/json\r\nContent-Length: 1\r\n\r\n{'],
    ['another method', 'DELETE /v1/pets', '\r\n'],
    ['an unknown path', 'GET /v1/owners', '\r\n'],
    ['a path outside of /v1', 'GET /owners', '\r\n'],
    ['an animal that is not there', 'GET /v1/pets/999', '\r\n'],
    ['a bad query', 'GET /v1/pets?limit=0', '\r\n'],
    ['an Accept without JSON', 'GET /v1/pets', 'Accept: text/html\r\n\r\n'],
    ['a preflight', 'OPTIONS /v1/pets', 'Origin: https://a.example\r\nAccess-Control-Request-Method: GET\r\n\r\n'],
  ])('that are not there let %s learn nothing but 401', async (_what, line, rest) => {
    const good = await list();
    const answer = await Connection.ask(service.port, `${line} HTTP/1.1\r\nHost: x\r\n${rest}`);
    expect(answer.status).toBe(401);
    expect(answer.body).toBe(good.body);
    expect(answer.header('Allow')).toBeUndefined();
  });
});
