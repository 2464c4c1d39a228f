import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiKeyService } from '../../src/application/keys/api-key.service.js';
import { Authenticator } from '../../src/application/keys/authenticator.js';
import { newPetJson } from '../support/fields.js';
import { OPERATIONS } from '../support/operations.js';
import { freePort } from '../support/servers.js';
import { Service } from '../support/service.js';
import { rawQuery } from '../stores/raw-query.js';
import { StoreKind, TestStore } from '../support/stores.js';

/** The metrics of a service on a kind of database. */
export function describeMetrics(kind: StoreKind): void {
  describe(`the metrics on ${kind.name}`, () => {
    let store: TestStore;
    let service: Service;
    let address: string;

    beforeAll(async () => {
      store = await kind.create();
      const port = await freePort();
      address = `http://127.0.0.1:${port}/metrics`;
      service = await Service.start({ DATABASE_URL: store.url, METRICS_PORT: String(port) });
    });

    afterAll(async () => {
      await service.stop();
      await expect(fetch(address)).rejects.toThrow('fetch failed');
      await store.remove();
    });

    const read = async () => (await fetch(address)).text();

    it('begin with series of server errors at 0, so that the first error is an increase', async () => {
      const text = await read();
      for (const { name } of [...OPERATIONS, { name: 'other' }]) {
        for (const status of [500, 503]) {
          const labels = `operation="${name}",status="${status}"`;
          expect(text).toContain(`petstore_request_duration_seconds_count{${labels}} 0\n`);
          expect(text).toContain(`petstore_request_duration_seconds_bucket{le="+Inf",${labels}} 0\n`);
        }
      }
    });

    it('count requests by operation and status, and the time they took', async () => {
      await service.add(newPetJson());
      await service.send('/v1/pets');
      await service.send('/v1/pets', { method: 'HEAD' });
      await service.send('/v1/pets', { key: false });
      await service.send('/v1/pets/1');
      await service.send('/v1/pets/2');
      await service.send('/v1/pets', { method: 'PROPFIND' });
      await service.send('/docs', { key: false });
      await service.raw('NONSENSE\r\n\r\n');
      const text = await read();
      for (const [operation, status, count] of [
        ['createPet', 201, 1],
        ['listPets', 200, 2],
        ['listPets', 401, 1],
        ['getPet', 200, 1],
        ['getPet', 404, 1],
        ['other', 405, 1],
        ['other', 200, 1],
        ['other', 400, 1],
      ]) {
        const labels = `operation="${operation}",status="${status}"`;
        expect(text).toContain(`petstore_request_duration_seconds_count{${labels}} ${count}\n`);
        expect(text).toContain(`petstore_request_duration_seconds_bucket{le="+Inf",${labels}} ${count}\n`);
      }
      expect(text).toMatch(/petstore_request_duration_seconds_sum\{operation="createPet",status="201"\} 0\.\d+/);
    });

    it('count the calls of the deprecated operation by the name of the key', async () => {
      const calls = (await read()).match(/^petstore_deprecated_calls_total.*/gm);
      expect(calls).toEqual(['petstore_deprecated_calls_total{operation="getPet",key="test"} 2']);
    });

    it('count no request beyond RATE_LIMIT as a call, nor do the uses of its key', async () => {
      const port = await freePort();
      const limited = await Service.start({ RATE_LIMIT: '2', METRICS_PORT: String(port) });
      for (const status of [404, 404, 429]) expect((await limited.send('/v1/pets/1')).status).toBe(status);
      const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
      expect(text).toContain('petstore_deprecated_calls_total{operation="getPet",key="test"} 2\n');
      await limited.app.get(Authenticator).recordUses();
      expect(await limited.app.get(ApiKeyService).callers()).toMatchObject([{ deprecatedCalls: 2 }]);
      await limited.stop();
    });

    it('measure the queries of the database, of which several creates share one, and one that fails', async () => {
      await Promise.all(Array.from({ length: 20 }, () => service.add(newPetJson())));
      await rawQuery(store.url, 'ALTER TABLE pet RENAME TO hidden');
      expect((await service.add(newPetJson())).status).toBe(kind.name === 'SQLite' ? 500 : 503);
      await rawQuery(store.url, 'ALTER TABLE hidden RENAME TO pet');
      const text = await read();
      expect(text).toMatch(/^petstore_database_duration_seconds_count [1-9]/m);
    });

    it('tell of the process, its event loop and its version', async () => {
      const text = await read();
      expect(text).toContain('\nprocess_resident_memory_bytes ');
      expect(text).toContain('\nnodejs_eventloop_lag_p99_seconds ');
      expect(text).toMatch(/^petstore_build_info\{version="\d[^"]*"\} 1$/m);
    });

    it('have neither the text of a key nor the name of a pet', async () => {
      const text = await read();
      expect(text).not.toContain((JSON.parse(newPetJson()) as { name: string }).name);
      expect(text).not.toContain(service.key.slice(9));
    });

    it('are at /metrics of a port of their own, and nowhere else', async () => {
      const { status, headers } = await fetch(address, { method: 'HEAD' });
      expect([status, headers.get('content-type')]).toEqual([200, 'text/plain; version=0.0.4; charset=utf-8']);
      expect((await fetch(`${address}?x=1`)).status).toBe(200);
      for (const other of ['/', '/metrics/', '/metricsx?/metrics'])
        expect((await fetch(new URL(other, address))).status).toBe(404);
      expect((await service.send('/metrics')).status).toBe(404);
    });
  });
}
