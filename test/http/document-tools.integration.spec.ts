import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo, Server } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import express, { type Request, type Response } from 'express';
import { middleware } from 'express-openapi-validator';
import { load } from 'js-yaml';
import { newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';

/** In a process of its own, since Jest cannot load its ES modules on Node 20. */
const BACKEND = `new (require('openapi-backend').OpenAPIBackend)({ definition: 'openapi.yaml', strict: true }).init()
  .then(({ router }) => console.log(router.getOperations().map(({ operationId }) => operationId).join()))`;

it('openapi-backend finds the operations in openapi.yaml', () => {
  const names = execFileSync(process.execPath, ['--eval', BACKEND], { encoding: 'utf8' }).trim().split(',');
  expect(names).toEqual(OPERATIONS.map(({ name }) => name));
});

it('the pattern of a name is one for PCRE2, the regular expressions of grep -P and of PHP', () => {
  const pattern = /pattern: (\^\[\^.*)/.exec(readFileSync('openapi.yaml', 'utf8'))?.[1] as string;
  const env = { ...process.env, LC_ALL: 'C.UTF-8' };
  const matched = execFileSync('grep', ['-aP', '--', pattern], { input: 'Zoë\na\u0001\n \n', encoding: 'utf8', env });
  expect(matched).toBe('Zoë\n');
});

type Options = Parameters<typeof middleware>[0];

// The gateways that import nothing newer get the document with another version string. It validates the document, too.
describe.each(['3.1.0', '3.0.3'])('express-openapi-validator, given openapi.yaml as OpenAPI %s', (openapi) => {
  let server: Server;

  beforeAll(async () => {
    const app = express();
    const document = load(readFileSync('openapi.yaml', 'utf8')) as Exclude<Options['apiSpec'], string>;
    const apiSpec = Object.assign(document, { openapi, servers: [{ url: '/v1' }] });
    app.use(express.json(), middleware({ apiSpec, validateSecurity: false }));
    app.use((_request: Request, response: Response) => response.sendStatus(201));
    server = app.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterAll(() => void server.close());

  it.each([
    [201, newPetJson()],
    [400, newPetJson({ Status: '"sold"' })],
    [400, newPetJson({ id: '1' })],
    [400, newPetJson({ status: '"lost"' })],
    [400, newPetJson({ name: '"\\u0085"' })],
  ])('responds with %i to the body %s, as the service does', async (expected, body) => {
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/pets`;
    const { status } = await fetch(url, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body });
    expect(status).toBe(expected);
  });
});
