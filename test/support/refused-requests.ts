import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { Connection } from './connection.js';
import { Service } from './service.js';

const PET = '{"name":"Bella","categoryId":1}';

/** A request without a body, with a key or, if it is empty, without; `more` is whole lines. */
export const getRequest = (key: string, target: string, more = ''): string =>
  `GET ${target} HTTP/1.1\r\nHost: x\r\n${key && `Authorization: Bearer ${key}\r\n`}${more}\r\n`;

/** For each code that a request is refused with for a fault of its own, one that is; for `request_timeout` it takes HEADERS_TIMEOUT. */
export async function refusedRequests(service: Service): Promise<string[]> {
  const issued = service.app.get(ApiKeyService);
  const { text: expired } = await issued.create('expired', new Date(Date.now() + 50));
  const { text: revoked } = await issued.create('revoked');
  await issued.revoke('revoked');
  const get = (target: string, more = '') => getRequest(service.key, target, more);
  const list = (key: string) => getRequest(key, '/v1/pets');
  const post = (body: string, more = 'Content-Type: application/json\r\n') =>
    `POST /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${service.key}\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`;
  const json = (more: string) => `Content-Type: application/json\r\n${more}\r\n`;
  await Connection.ask(service.port, post(PET, json('Idempotency-Key: taken')));
  while ((await Connection.ask(service.port, list(expired))).status === 200);
  return [
    'hello?\r\n\r\n',
    post('{'),
    post('[]'),
    post('{"name":"Bella"}'),
    post('{"name":1,"categoryId":1}'),
    post(`{"id":1,${PET.slice(1)}`),
    post('{"name":"A","name":"A","categoryId":1}'),
    get('/v1/pets?limit=0'),
    get('/v1/pets?page=1'),
    get('/v1/pets?limit=1&limit=1'),
    get('/v1/pets?cursor=1'),
    post(PET, json('Idempotency-Key: ')),
    list(''),
    list('nobody'),
    list(expired),
    list(revoked),
    get('/v1/pets/999'),
    get('/v1/owners'),
    get('/v1/pets').replace('GET', 'PUT'),
    get('/v1/pets', 'Accept: text/html\r\n'),
    'GET /v1/pets HTTP/1.1\r\n',
    post(PET.padEnd(65_537)),
    get(`/${'a'.repeat(13_000)}`),
    post(PET, ''),
    post(PET, json('Expect: 200-ok')),
    post(PET.replace('1', '2'), json('Idempotency-Key: taken')),
    get('/v1/pets', `X-A: ${'a'.repeat(17_000)}\r\n`),
  ];
}
