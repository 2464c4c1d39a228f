import { describe, expect, it } from '@jest/globals';
import { Connection } from '../support/connection.js';
import { freshFolder } from '../support/fresh-folder.js';
import { until } from '../support/working-folder.js';

const KEY = 'key-of-the-connections-test';
const LIST = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;

const folder = freshFolder();

/** Whether a request on this connection is answered; else the connection is closed without a response. */
async function isServed(connection: Connection): Promise<boolean> {
  connection.write(LIST);
  return connection.answer().then(
    ({ status }) => status === 200,
    () => (expect(connection.rest).toBe(''), false),
  );
}

describe('MAX_CONNECTIONS', () => {
  it('closes a further connection without a response, and serves a new one once one has closed', async () => {
    const service = await folder().serve({ MAX_CONNECTIONS: '5', API_KEYS: KEY });
    const open: Connection[] = [];
    const another = async () => {
      const connection = await Connection.open(service.port);
      open.push(connection);
      return isServed(connection);
    };
    for (let i = 0; i < 5; i++) expect(await another()).toBe(true);
    for (let i = 0; i < 3; i++) expect(await another()).toBe(false);
    for (const connection of open.slice(0, 5)) expect(await isServed(connection)).toBe(true);
    open[0]?.destroy();
    await until(another);
    expect(await another()).toBe(false);
    for (const connection of open) connection.destroy();
  });

  it('applies to each worker: every connection is served or closed', async () => {
    const service = await folder().serve({ WEB_CONCURRENCY: '2', MAX_CONNECTIONS: '5', API_KEYS: KEY });
    const open = await Promise.all(Array.from({ length: 40 }, () => Connection.open(service.port)));
    const served = (await Promise.all(open.map(isServed))).filter(Boolean).length;
    expect(served).toBeGreaterThanOrEqual(5);
    expect(served).toBeLessThanOrEqual(10);
    for (const connection of open) connection.destroy();
  });
});
