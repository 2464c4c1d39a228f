import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Collector } from '../support/collector.js';
import { Connection } from '../support/connection.js';
import { freshFolder } from '../support/fresh-folder.js';
import { freePort } from '../support/servers.js';
import { query } from '../support/sql.js';
import { mariadb, postgres } from '../support/stores.js';
import { describeTraces } from './traces.contract.js';

const KEY = 'key-of-the-tracing-test';
const PRODUCTION = { NODE_ENV: 'production', API_KEYS: KEY };
const LIST = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;

for (const kind of [postgres, mariadb]) describeTraces(kind, async (url) => void (await query(url, 'DROP TABLE pet')));

describe('tracing', () => {
  const folder = freshFolder();
  let collector: Collector;

  beforeEach(async () => {
    collector = await Collector.open();
  });

  afterEach(() => collector.close());

  it('is off without a collector, and the log has the trace of the client all the same', async () => {
    const service = await folder().serve(PRODUCTION);
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await Connection.ask(service.port, LIST.replace('Host', `traceparent: ${traceparent}\r\nHost`));
    expect(await service.end('SIGTERM')).toBe(0);
    const [line] = service.lines.filter(({ route }) => route === '/v1/pets');
    expect(line).toMatchObject({ trace_id: '4bf92f3577b34da6a3ce929d0e0e4736' });
    expect(line).not.toHaveProperty('span_id');
  });

  it('tells workers apart, and uses the name that is set', async () => {
    const service = await folder().serve({
      ...PRODUCTION,
      ...{ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, OTEL_SERVICE_NAME: 'pets', WEB_CONCURRENCY: '2' },
    });
    for (let i = 0; i < 8; i++) await Connection.ask(service.port, LIST);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(collector.spans.filter(({ kind }) => kind === 'SERVER')).toHaveLength(8);
    expect(new Set(collector.spans.map(({ resource }) => resource['service.name']))).toEqual(new Set(['pets']));
    expect(new Set(collector.spans.map(({ resource }) => resource['service.instance.id'])).size).toBe(2);
  });

  it.each([
    ['is away', 'accepts'],
    ['rejects spans', 'rejects'],
    ['hangs', 'hangs'],
  ] as const)('fails no request and holds up no shutdown if the collector %s', async (how, behaviour) => {
    collector.behaviour = behaviour;
    const endpoint = how === 'is away' ? `http://127.0.0.1:${await freePort()}` : collector.endpoint;
    const service = await folder().serve({ ...PRODUCTION, OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
    for (let i = 0; i < 20; i++) expect((await Connection.ask(service.port, LIST)).status).toBe(200);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.lines.filter(({ level }) => level === 'warn')).not.toEqual([]);
    expect(service.lines.at(-1)).toMatchObject({ msg: 'The pet store is closed.', code: 0 });
  });
});
