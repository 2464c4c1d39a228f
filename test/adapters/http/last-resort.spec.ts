import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Server } from 'node:http';
import type { Response } from '../../../src/adapters/http/server/response.js';
import { PetRepository } from '../../../src/application/pets/pet-repository.port.js';
import { Connection } from '../../support/connection.js';
import { getRequest } from '../../support/refused-requests.js';
import { Service } from '../../support/service.js';

describe('what is thrown while an error is answered', () => {
  let service: Service;
  let log: Record<string, unknown>[];

  beforeEach(async () => {
    log = [];
    const write = (line: string) => void log.push(JSON.parse(line) as Record<string, unknown>);
    service = await Service.start({ NODE_ENV: 'production', LOG_LEVEL: 'info' }, write);
  });

  afterEach(() => service.stop());

  /** What makes `GET /v1/pets/1` go wrong, and the error on the way to its answer of which the log must tell. */
  const FAULTS: readonly (readonly [what: string, error: RegExp, spoil: () => void])[] = [
    [
      'because the log cannot tell of it',
      /BigInt/,
      () => {
        // eslint-disable-next-line @typescript-eslint/prefer-promise-reject-errors -- That it is no error is the point.
        service.app.get(PetRepository).find = () => Promise.reject({ id: 1n });
      },
    ],
    [
      'because the answer cannot be sent',
      /ERR_INVALID_CHAR|Invalid character in header content/,
      () => {
        const server = service.app.getHttpServer() as Server;
        server.prependListener('request', ({ url }, response) => {
          if (url === '/v1/pets/1') (response as unknown as Response).standing.push('X-A', '\n');
        });
      },
    ],
  ];

  it.each(FAULTS)('%s, is logged and ends that connection, and no other', async (_what, error, spoil) => {
    const other = await Connection.open(service.port);
    other.write(getRequest(service.key, '/v1/pets'));
    expect((await other.answer()).status).toBe(200);
    spoil();
    const connection = await Connection.open(service.port);
    connection.write(getRequest(service.key, '/v1/pets/1'));
    await connection.closed;
    expect(connection.rest).toBe('');
    const errors = log.filter(({ level }) => level === 'error');
    expect(errors.at(-1)).toMatchObject({ part: 'http', msg: expect.stringMatching(error) });
    expect(log.at(-1)).toMatchObject({ level: 'info', route: '/v1/pets/:petId', aborted: true });
    // An error that nobody catches would have ended the process by now.
    await new Promise((resolve) => setTimeout(resolve, 50));
    other.write(getRequest(service.key, '/v1/pets'));
    expect((await other.answer()).status).toBe(200);
    other.destroy();
  });
});
