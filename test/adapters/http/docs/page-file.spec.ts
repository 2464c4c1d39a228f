import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import absolutePath from 'swagger-ui-dist/absolute-path.js';
import { Connection, WireAnswer } from '../../../support/connection.js';
import { Service } from '../../../support/service.js';

const STYLE = readFileSync(join(absolutePath(), 'swagger-ui.css'));

describe('the files of the docs page', () => {
  let service: Service;

  beforeAll(async () => {
    service = await Service.start();
  });

  afterAll(() => service.stop());

  const ask = (method: string, path: string, ...fields: string[]): Promise<WireAnswer> =>
    Connection.ask(service.port, [`${method} ${path} HTTP/1.1`, 'Host: x', ...fields, '', ''].join('\r\n'));

  it('come whole, whatever range or precondition is asked for', async () => {
    for (const field of [
      'Range: bytes=0-1',
      'Range: bytes=999999999-',
      'Range: pages=1',
      'If-Match: "x"',
      'If-Unmodified-Since: Thu, 01 Jan 1970 00:00:00 GMT',
      'If-Modified-Since: Thu, 01 Jan 2099 00:00:00 GMT',
      'If-Range: "x"',
    ]) {
      const answer = await ask('GET', '/docs/swagger-ui.css', field);
      expect([field, answer.status, answer.header('Accept-Ranges')]).toEqual([field, 200, 'none']);
      expect(answer.body).toBe(STYLE.toString());
    }
  });

  it('come with the same head for HEAD, and no body', async () => {
    const answer = await ask('HEAD', '/docs/swagger-ui.css');
    expect([answer.status, answer.header('Content-Length')]).toEqual([200, String(STYLE.length)]);
  });

  it('are not sent again to a client that has them', async () => {
    for (const path of ['/docs', '/docs/start.js', '/docs/swagger-ui.css', '/openapi.json', '/openapi.yaml']) {
      const etag = (await ask('HEAD', path)).header('ETag') as string;
      for (const list of [etag, etag.slice(2), `"x", ${etag}`, '*']) {
        const answer = await ask('HEAD', path, `If-None-Match: ${list}`);
        expect([path, list, answer.status, answer.header('ETag')]).toEqual([path, list, 304, etag]);
      }
      expect((await ask('HEAD', path, 'If-None-Match: "x"')).status).toBe(200);
    }
  });

  it('come compressed to a client that takes gzip, and to no other', async () => {
    const style = (accepted: string) =>
      fetch(`http://127.0.0.1:${service.port}/docs/swagger-ui.css`, { headers: { 'Accept-Encoding': accepted } });
    for (const accepted of ['gzip', 'br, GZIP;q=0.5', 'deflate, gzip']) {
      const answer = await style(accepted);
      expect([answer.headers.get('Content-Encoding'), answer.headers.get('Vary')]).toEqual(['gzip', 'Accept-Encoding']);
      // fetch undoes the encoding.
      expect(await answer.text()).toBe(STYLE.toString());
      expect(Number(answer.headers.get('Content-Length'))).toBeLessThan(STYLE.length / 3);
    }
    for (const accepted of ['identity', 'br', 'gzip;q=0', 'x-gzip']) {
      expect((await style(accepted)).headers.get('Content-Encoding')).toBeNull();
    }
  });
});
