import { describe, expect, it } from '@jest/globals';
import { expectError } from '../support/error-body.js';
import { bytes, get, pause, petBody, post, postHead, underAttack } from './under-attack.js';

interface Pet {
  readonly id: number;
  readonly name: string;
}

describe.each([1, 2])('of %i process(es), on one connection', (workers) => {
  const service = underAttack(workers);
  let tries = 0;
  const newName = () => `order-${++tries}`;

  const FAULTS: readonly (readonly [what: string, request: string, status: number])[] = [
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\nHost: x\n\n', 400],
    ['what is no HTTP', 'hello?\n\n', 400],
    ['RTSP', 'GET /v1/pets RTSP/1.0\nHost: x\nKEY\n\n', 400],
    ['no Host', 'GET /v1/pets HTTP/1.1\nKEY\n\n', 400],
    ['an expectation that cannot be met', get('/v1/pets').replace('\n', '\nExpect: x\n'), 417],
    ['a request to upgrade', get('/v1/pets').replace('\n', '\nConnection: Upgrade\nUpgrade: h2c\n'), 200],
    ['no key', 'GET /v1/pets HTTP/1.1\nHost: x\n\n', 401],
    ['a health check', 'GET /health/live HTTP/1.1\nHost: x\n\n', 200],
    ['a page of the docs', 'GET /docs HTTP/1.1\nHost: x\n\n', 200],
  ];

  it.each(FAULTS)('%s behind a POST is answered behind it', async (_what, request, status) => {
    for (let i = 0; i < 10; i++) {
      const connection = await service().open();
      const name = newName();
      connection.write(bytes(post(name) + request));
      expect(JSON.parse((await connection.answer()).body)).toMatchObject({ name });
      expect((await connection.answer()).status).toBe(status);
      connection.destroy();
    }
  });

  it('a GET of the new id behind a POST finds the pet', async () => {
    const connection = await service().open();
    connection.write(bytes(post(newName())));
    let { id } = JSON.parse((await connection.answer()).body) as Pet;
    for (let i = 0; i < 20; i++) {
      const name = newName();
      connection.write(bytes(post(name) + get(`/v1/pets/${++id}`)));
      expect(JSON.parse((await connection.answer()).body)).toMatchObject({ id, name });
      const found = await connection.answer();
      expect(found.status).toBe(200);
      expect(JSON.parse(found.body)).toMatchObject({ id, name });
    }
    connection.destroy();
  });

  it('a list behind a POST begins with the pet', async () => {
    const connection = await service().open();
    for (let i = 0; i < 20; i++) {
      const [one, other] = [newName(), newName()];
      connection.write(bytes(post(one) + get('/v1/pets?limit=1') + post(other) + get('/v1/pets?limit=2')));
      expect(JSON.parse((await connection.answer()).body)).toMatchObject({ name: one });
      expect(JSON.parse((await connection.answer()).body)).toMatchObject([{ name: one }]);
      expect(JSON.parse((await connection.answer()).body)).toMatchObject({ name: other });
      expect(JSON.parse((await connection.answer()).body)).toMatchObject([{ name: other }, { name: one }]);
    }
    connection.destroy();
  });

  it('what comes behind a pipeline with large answers is answered too', async () => {
    const connection = await service().open();
    for (let i = 0; i < 3; i++) {
      connection.write(bytes(get('/docs/swagger-ui-bundle.js').repeat(3) + get('/v1/pets?limit=1')));
      for (let j = 0; j < 4; j++) expect((await connection.answer()).status).toBe(200);
      connection.write(bytes(get('/v1/pets?limit=1')));
      expect((await connection.answer()).status).toBe(200);
      connection.write(bytes(post(newName())));
      expect((await connection.answer()).status).toBe(201);
    }
    connection.destroy();
  });

  it('a client that half-closes behind its requests gets every answer', async () => {
    for (const split of [false, true]) {
      const names = [newName(), newName(), newName()];
      const connection = await service().open();
      const text = names.map((name) => post(name) + get('/v1/pets?limit=1')).join('');
      if (split) {
        const half = bytes(text);
        connection.write(half.subarray(0, 100));
        connection.socket.end(half.subarray(100));
      } else connection.socket.end(bytes(text));
      for (const name of names) {
        const added = await connection.answer();
        expect({ status: added.status, pet: JSON.parse(added.body) as Pet }).toMatchObject({
          status: 201,
          pet: { name },
        });
        expect(JSON.parse((await connection.answer()).body)).toMatchObject([{ name }]);
      }
      await connection.closed;
      const stored = await service().stored();
      for (const name of names) expect(stored.filter((each) => each === name)).toHaveLength(1);
    }
  });

  it.each([
    '/v1/pets',
    '/v1/pets/1',
    '/health/live',
    '/health/ready',
    '/docs',
    '/docs/swagger-ui-bundle.js',
    '/openapi.json',
  ])('a client that half-closes behind GET %s gets its answer', async (path) => {
    const connection = await service().open();
    connection.socket.end(bytes(get(path)));
    expect((await connection.answer()).status).toBe(200);
    await connection.closed;
  });

  it('a client that half-closes behind a body that it announced with Expect gets its answer', async () => {
    const name = newName();
    const connection = await service().open();
    const body = petBody(name);
    connection.socket.end(bytes(postHead(body.length).replace('\n', '\nExpect: 100-continue\n') + body));
    expect((await connection.answer()).status).toBe(100);
    expect((await connection.answer()).status).toBe(201);
    await connection.closed;
  });

  it.each([
    ['what is no HTTP', 'hello?\n\n'],
    ['CONNECT', 'CONNECT x:1 HTTP/1.1\nHost: x\n\n'],
  ])(
    'a client that half-closes behind %s gets 400, behind the answers before, whenever its end comes',
    async (_what, fault) => {
      const clients = Array.from({ length: 300 }, async (_, i) => {
        const connection = await service().open();
        connection.write(bytes(get('/health/live').repeat(1 + (i % 4)) + fault));
        // In the turns of the event loop in which the service answers.
        if (i % 3 > 0) await pause(i % 7);
        connection.socket.end();
        for (let j = 0; j <= i % 4; j++) expect((await connection.answer()).status).toBe(200);
        expectError(await connection.answer(), 'bad_request');
        await connection.closed;
      });
      await Promise.all(clients);
    },
  );

  it('a client that half-closes within a body gets 400, behind the answers before, and nothing of it is stored', async () => {
    const [name, half] = [newName(), newName()];
    const connection = await service().open();
    connection.socket.end(bytes(post(name) + post(half)).subarray(0, -1));
    expect((await connection.answer()).status).toBe(201);
    expectError(await connection.answer(), 'bad_request');
    await connection.closed;
    const stored = await service().stored();
    expect(stored.filter((each) => each === name)).toHaveLength(1);
    expect(stored).not.toContain(half);
  });
});
