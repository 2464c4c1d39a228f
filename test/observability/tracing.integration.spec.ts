import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Collector } from '../support/collector.js';
import { Connection } from '../support/connection.js';
import { freshFolder } from '../support/fresh-folder.js';
import { freePort } from '../support/servers.js';
import { mariadb, postgres } from '../support/stores.js';
import { describeTraces } from './traces.contract.js';

const KEY = 'key-of-the-tracing-test';
const PRODUCTION = { NODE_ENV: 'production', API_KEYS: KEY, OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' };
const LIST = `GET /v1/pets HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${KEY}\r\n\r\n`;

describeTraces(postgres);
describeTraces(mariadb);

describe('tracing', () => {
  const folder = freshFolder();
  let collector: Collector;

  beforeEach(async () => {
    collector = await Collector.open();
  });

  afterEach(() => collector.close());

  it('is off without a collector or exporter, or if the SDK is disabled', async () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = collector.endpoint;
    for (const variables of [
      {},
      { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SDK_DISABLED: 'true' },
      { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_TRACES_EXPORTER: 'none' },
    ] as Record<string, string>[]) {
      const service = await folder().serve({ ...PRODUCTION, ...variables });
      await Connection.ask(service.port, LIST);
      expect(await service.end('SIGTERM')).toBe(0);
      const [line] = service.lines.filter(({ route }) => route === '/v1/pets');
      expect(line).not.toHaveProperty('trace_id');
    }
    expect(collector.spans).toEqual([]);
  });

  it('uses the endpoint, sampler and service name of the standard variables', async () => {
    const service = await folder().serve({
      ...PRODUCTION,
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.endpoint}/v1/traces`,
      OTEL_RESOURCE_ATTRIBUTES: 'service.name=shop',
      OTEL_TRACES_SAMPLER: 'parentbased_always_off',
    });
    await Connection.ask(service.port, LIST);
    const sampled = 'traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
    await Connection.ask(service.port, LIST.replace('Host', `${sampled}\r\nHost`));
    expect(await service.end('SIGTERM')).toBe(0);
    const [span, ...others] = collector.spans.filter(({ kind }) => kind === 'SERVER');
    expect(others).toEqual([]);
    expect(span?.traceId).toBe('4bf92f3577b34da6a3ce929d0e0e4736');
    expect(span?.resource['service.name']).toBe('shop');
  });

  it('uses the exporter and the propagators of the standard variables', async () => {
    const service = await folder().serve({
      ...PRODUCTION,
      ...{ OTEL_TRACES_EXPORTER: 'zipkin', OTEL_EXPORTER_ZIPKIN_ENDPOINT: `${collector.endpoint}/zipkin` },
      ...{ OTEL_PROPAGATORS: 'b3', OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
    });
    const [traceId, id] = ['4bf92f3577b34da6a3ce929d0e0e4736', '00f067aa0ba902b7'];
    const headers = `b3: ${traceId}-${id}-1\r\ntraceparent: 00-${'1'.repeat(32)}-${'1'.repeat(16)}-01\r\n`;
    await Connection.ask(service.port, LIST.replace('Host', `${headers}Host`));
    expect(await service.end('SIGTERM')).toBe(0);
    expect(collector.zipkin).toContainEqual(expect.objectContaining({ traceId, parentId: id, name: 'GET /v1/pets' }));
    expect(collector.spans).toEqual([]);
  });

  it('sends spans by the default protocol, protobuf, too', async () => {
    const service = await folder().serve({
      ...{ ...PRODUCTION, OTEL_EXPORTER_OTLP_PROTOCOL: '', OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
    });
    await Connection.ask(service.port, LIST);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(collector.types).toEqual(new Set(['application/x-protobuf']));
    expect(collector.text).toContain('GET /v1/pets');
  });

  it.each([
    ['OTEL_TRACES_EXPORTER', 'carrier-pigeon'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'thrift'],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'thrift'],
    ['OTEL_PROPAGATORS', 'tracecontext,xray'],
    ['OTEL_TRACES_SAMPLER', 'sometimes'],
    ['OTEL_TRACES_SAMPLER_ARG', '2'],
    ['OTEL_BSP_SCHEDULE_DELAY', 'soon'],
  ])('warns of a value of %s that is not supported, as check does', async (name, value) => {
    const variables = {
      ...{ ...PRODUCTION, OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint },
      ...(name === 'OTEL_TRACES_SAMPLER_ARG' && { OTEL_TRACES_SAMPLER: 'traceidratio' }),
      ...{ LOG_LEVEL: 'warn', DATABASE_URL: 'memory:', [name]: value },
    };
    // The SDK does not say which of two variables it has read.
    const said = name.replace('OTEL_EXPORTER_OTLP_TRACES', '');
    const { code, out } = await folder().run(['check'], variables);
    expect([code, out.split('\n').filter((line) => line.includes(said)).length]).toEqual([0, 1]);
    const service = folder().start(variables);
    await service.greeted(/"part":"tracing"[^\n]*\n/);
    expect(service.lines).toContainEqual(
      expect.objectContaining({ level: 'warn', msg: expect.stringContaining(said) }),
    );
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
