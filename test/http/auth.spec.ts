import { beforeAll, describe, expect, it } from '@jest/globals';
import type { ErrorCode } from '../../src/adapters/http/errors/error-code.js';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { keyText } from '../../src/domain/keys/api-key.js';
import { Connection, type WireAnswer } from '../support/connection.js';
import { expectError } from '../support/error-body.js';
import { OPERATIONS } from '../support/operations.js';
import { bytes, rawRequest } from '../support/raw-requests.js';
import { Service } from '../support/service.js';

const CONFIGURED = 'a-key.of_ours~16+/==';

describe('authentication', () => {
  const service = Service.forSuite({ API_KEYS: CONFIGURED });
  let keys: ApiKeyService;
  let issued: string;

  beforeAll(async () => {
    keys = service.app.get(ApiKeyService);
    issued = (await keys.create('issued')).text;
  });

  /** Lists pets with these header lines, in which `ISSUED` stands for a valid key. */
  const list = (...lines: string[]): Promise<WireAnswer> =>
    Connection.ask(service.port, bytes(rawRequest('GET /v1/pets', lines).replaceAll('ISSUED', issued)));

  const listWith = (key: string) => list(`Authorization: Bearer ${key}`);

  function expectChallenge(response: WireAnswer, code: ErrorCode): void {
    expectError(response, code);
    const error = code === 'api_key_missing' ? '' : ', error="invalid_token"';
    expect(response.header('WWW-Authenticate')).toBe(`Bearer realm="petstore"${error}`);
  }

  it.each(['Bearer ISSUED', 'bearer ISSUED', 'bEaReR ISSUED', 'Bearer   ISSUED', `Bearer ${CONFIGURED}`])(
    'accepts %s',
    async (value) => {
      expect((await list(`Authorization: ${value}`)).status).toBe(200);
    },
  );

  const FORM = 'Authorization must be "Bearer <API_KEY>": the word Bearer, a space, and the API key.';

  it.each([
    ['Authorization:', 'The request has no API key. Send it as "Authorization: Bearer <API_KEY>".'],
    ['X-A: b', 'The request has no API key. Send it as "Authorization: Bearer <API_KEY>".'],
    ['Authorization: Basic YTpi', FORM],
    ['Authorization: ISSUED', FORM],
    ['Authorization: BearerToken ISSUED', FORM],
    ['Authorization: Bearer\tISSUED', FORM],
    ['Authorization: Bearer:ISSUED', FORM],
    ['Authorization: No-Bearer ISSUED', FORM],
    ['X-API-Key: ISSUED', 'Send the API key as "Authorization: Bearer <API_KEY>", not as X-API-Key.'],
  ])('finds no key in "%s", and says what to send where', async (line, message) => {
    const response = await list(line);
    expectChallenge(response, 'api_key_missing');
    expect(JSON.parse(response.body)).toMatchObject({ message });
    expect(response.body).not.toContain(issued);
  });

  it.each([
    [['Bearer']],
    [['Bearer ISSUED,']],
    [['Bearer "ISSUED"']],
    [['Bearer ISSUED, Bearer ISSUED']],
    [['Bearer ISSUED', 'Bearer ISSUED']],
    [['Bearer ISSUED', 'Basic YTpi']],
    [[`Bearer ${keyText('0'.repeat(30))}`]],
    [['Bearer nobody']],
    [[`Bearer ${CONFIGURED}=`]],
    [[`Bearer ${CONFIGURED.toUpperCase()}`]],
    [[`Bearer ${'x'.repeat(10_000)}`]],
  ])('rejects the Authorization headers %.40j', async (values: string[]) =>
    expectChallenge(await list(...values.map((value) => `Authorization: ${value}`)), 'api_key_invalid'),
  );

  it.each(['access_token', 'api_key'])('ignores a key in the query, as %s', async (name) => {
    expectError(await service.send(`/v1/pets?${name}=${issued}`, { key: false }), 'api_key_missing');
  });

  it('rejects a key from the moment that it is revoked, and one that has expired', async () => {
    const { text, key } = await keys.create('revoked');
    expect((await listWith(text)).status).toBe(200);
    await keys.revoke(key.prefix);
    expectChallenge(await listWith(text), 'api_key_revoked');
    expectChallenge(await listWith((await keys.create('expired', 0)).text), 'api_key_expired');
  });
});

describe('without a key', () => {
  const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND'];
  const service = Service.forSuite();

  it.each([
    ...OPERATIONS.map(({ valid }) => valid.target),
    ...['/v1', '/v1/', '/v1/orders', '/v1/pets/', '/v1/Pets', '/v1/pets/1/2', '/v1/%', '/v1//pets', '/v1?x'],
    ...['/nothing', '/health', '/docs/nothing', '/V1/docs', '/%ff'],
  ])('the response to every method is the same 401: %s', async (path) => {
    const { body } = await service.send('/v1/pets', { key: false });
    for (const method of METHODS) {
      const response = await service.send(path, { method, key: false });
      expect([method, response.status, response.body]).toEqual([method, 401, method === 'HEAD' ? '' : body]);
      expect(response.headers.allow).toBeUndefined();
    }
  });
});
