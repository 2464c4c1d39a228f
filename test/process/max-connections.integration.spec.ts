import { describe, expect, it, jest } from '@jest/globals';
import { Connection } from '../support/connection.js';
import { freshFolder } from '../support/fresh-folder.js';

// A service is up to three processes, which take their time if many run at once.
jest.setTimeout(60_000);

const KEY = 'key-of-the-connections-test';
const LIST = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;

const folder = freshFolder();

describe.each([1, 2])('MAX_CONNECTIONS with %i process(es)', (workers) => {
  it('closes a connection unserved while each process has so many, and serves another when one of them has gone', async () => {
    const service = await folder().serve({ WEB_CONCURRENCY: `${workers}`, MAX_CONNECTIONS: '5', API_KEYS: KEY });
    const port = Number(new URL(service.address).port);
    const open: Connection[] = [];
    const answered = async (connection: Connection) => {
      connection.write(LIST);
      return (await connection.answer()).status;
    };
    /** Whether one more is served; else it is closed, and gets nothing. */
    const another = async () => {
      const connection = await Connection.open(port);
      open.push(connection);
      return answered(connection).then(
        (status) => status === 200,
        () => (expect(connection.rest).toBe(''), false),
      );
    };
    for (let i = 0; i < 5 * workers; i++) expect(await another()).toBe(true);
    for (let i = 0; i < 3 * workers; i++) expect(await another()).toBe(false);
    const kept = open.slice(0, 5 * workers);
    for (const connection of kept) expect(await answered(connection)).toBe(200);
    for (const connection of kept.slice(-2)) {
      connection.destroy();
      // The service sees the end of that one a moment later.
      while (!(await another()));
      expect(await another()).toBe(false);
    }
    for (const connection of kept.slice(0, -2)) expect(await answered(connection)).toBe(200);
    for (const connection of open) connection.destroy();
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('closes none of as many as all processes may have, though all come at once', async () => {
    const service = await folder().serve({ WEB_CONCURRENCY: `${workers}`, MAX_CONNECTIONS: '40', API_KEYS: KEY });
    const port = Number(new URL(service.address).port);
    const open = await Promise.all(Array.from({ length: 40 * workers }, () => Connection.open(port)));
    for (const connection of open) connection.write(LIST);
    for (const connection of open) expect((await connection.answer()).status).toBe(200);
    for (const connection of open) connection.destroy();
    expect(await service.end('SIGTERM')).toBe(0);
  });
});
