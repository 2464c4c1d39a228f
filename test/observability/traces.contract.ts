import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { rawQuery } from '../stores/raw-query.js';
import { CollectedSpan, Collector } from '../support/collector.js';
import { newPetJson } from '../support/fields.js';
import { Service } from '../support/service.js';
import { StoreKind, TestStore } from '../support/stores.js';
import { linesOf, LogLine } from '../support/working-folder.js';

/** The trace and the span of the client. */
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

/** What is no `traceparent` (W3C Trace Context, section 3.2). */
const MALFORMED = [
  `00-${TRACE}-${PARENT}`,
  `00-${TRACE.toUpperCase()}-${PARENT}-01`,
  `00-${'0'.repeat(32)}-${PARENT}-01`,
  `ff-${TRACE}-${PARENT}-01`,
  'x'.repeat(4_000),
];

const SECRET = 'hunter2';

/** The traces of a service on a kind of database. */
export function describeTraces(kind: StoreKind): void {
  describe(`the traces on ${kind.name}`, () => {
    let collector: Collector;
    let store: TestStore;
    let key: string;
    let lines: readonly LogLine[];

    /** The line of the request with this id in the log. */
    const lineOf = (id: string) => lines.find(({ request, ms }) => request === id && ms !== undefined);

    /** The span of the request with this id. */
    const spanOf = (id: string): CollectedSpan =>
      collector.spans.find(({ spanId }) => spanId === lineOf(id)?.span_id) as CollectedSpan;

    /** The spans below this one. */
    const below = ({ spanId, traceId }: CollectedSpan): CollectedSpan[] =>
      collector.spans.filter((span) => span.parentSpanId === spanId && span.traceId === traceId);

    beforeAll(async () => {
      store = await kind.create();
      collector = await Collector.open();
      const settings = {
        OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
        OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
        OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
      };
      // The SDK of OpenTelemetry reads the environment of the process.
      Object.assign(process.env, settings);
      const variables = { NODE_ENV: 'production', LOG_LEVEL: 'info', DATABASE_URL: store.url, ...settings };
      let log = '';
      const service = await Service.start(variables, (line) => (log += line));
      key = service.key;
      const send = (id: string, target: string, headers: Record<string, string> = {}) =>
        service.send(target, { headers: { 'X-Request-Id': id, ...headers } });
      const traceparent = `00-${TRACE}-${PARENT}-01`;
      const named = newPetJson({ name: `"${SECRET}"` });
      await service.add(named, { 'X-Request-Id': 'create', traceparent, tracestate: 'a=b' });
      await service.add(named, { 'X-Request-Id': 'retryable', 'Idempotency-Key': SECRET });
      await send('find', '/v1/pets/1');
      await send('list', '/v1/pets?limit=7');
      await send('unauthorized', '/v1/pets', { Authorization: `Bearer ${SECRET}` });
      await send('nowhere', `/${'x'.repeat(1_000)}?key=${SECRET}`);
      await send('unsampled', '/v1/pets/1', { traceparent: `00-${TRACE}-${PARENT}-00` });
      await send('later-version', '/v1/pets/1', { traceparent: `01-${TRACE}-${PARENT}-01-more` });
      for (const [i, malformed] of MALFORMED.entries()) {
        await send(`malformed-${i}`, '/v1/pets/1', { traceparent: malformed });
      }
      await send('health', '/health/ready');
      await rawQuery(store.url, 'DROP TABLE pet');
      await send('broken', '/v1/pets?limit=8');
      await service.stop();
      lines = linesOf(log);
    });

    afterAll(async () => {
      await collector.close();
      await store.remove();
    });

    it('have the span of a create below that of the client, and its query below that', () => {
      const span = spanOf('create');
      expect(span).toMatchObject({
        traceId: TRACE,
        parentSpanId: PARENT,
        traceState: 'a=b',
        name: 'POST /v1/pets',
        kind: 'SERVER',
        isError: false,
        attributes: {
          'http.request.method': 'POST',
          'http.route': '/v1/pets',
          'http.response.status_code': 201,
          'url.path': '/v1/pets',
        },
      });
      const [query] = below(span).filter(({ name }) => name === 'INSERT pet') as [CollectedSpan];
      const attributes = { 'db.system.name': kind.name.toLowerCase() };
      expect(query).toMatchObject({ kind: 'CLIENT', isError: false, attributes });
      // Each takes its start from the wall clock, in milliseconds, which the system adjusts meanwhile.
      expect(query.start).toBeGreaterThanOrEqual(span.start - 50);
      expect(query.end).toBeLessThanOrEqual(span.end + 50);
    });

    it.each([
      ['find', 'GET /v1/pets/:petId'],
      ['list', 'GET /v1/pets'],
    ])('have the span of a request to %s, and its query below', (id, name) => {
      const span = spanOf(id);
      expect(span).toMatchObject({ parentSpanId: undefined, name, kind: 'SERVER', isError: false });
      expect(below(span)).toContainEqual(expect.objectContaining({ name: 'SELECT pet', kind: 'CLIENT' }));
    });

    it('have spans of requests that are rejected, of bounded length', () => {
      expect(spanOf('unauthorized')).toMatchObject({
        isError: false,
        attributes: { 'http.response.status_code': 401 },
      });
      expect(String(spanOf('nowhere').attributes['url.path'])).toHaveLength(256);
    });

    it('have an error in the spans of a request and of its query if the database fails', () => {
      const span = spanOf('broken');
      expect(span).toMatchObject({ isError: true, attributes: { 'http.response.status_code': expect.any(Number) } });
      expect(below(span).some(({ isError }) => isError)).toBe(true);
    });

    it('leave out health checks, and what the client does not sample', () => {
      expect(lineOf('unsampled')).not.toHaveProperty('trace_id');
      expect(collector.spans.filter(({ parentSpanId }) => parentSpanId === PARENT)).toHaveLength(2);
      expect(collector.text).not.toContain('/health');
    });

    it('accept a later version of traceparent, and ignore a malformed one', () => {
      expect(spanOf('later-version')).toMatchObject({ traceId: TRACE, parentSpanId: PARENT });
      for (const i of MALFORMED.keys()) {
        expect(spanOf(`malformed-${i}`).parentSpanId).toBeUndefined();
        expect(spanOf(`malformed-${i}`).traceId).not.toBe(TRACE);
      }
    });

    it('have nothing of a pet, a key or a query string', () => {
      for (const secret of [SECRET, key.slice(9), 'limit=']) expect(collector.text).not.toContain(secret);
    });

    it('name the service, its version and the instance', () => {
      for (const { resource } of collector.spans) {
        expect(resource).toMatchObject({
          'service.name': 'petstore',
          'service.version': expect.stringMatching(/^\d/),
          'service.instance.id': expect.stringMatching(/./),
          'deployment.environment.name': 'test',
        });
      }
    });
  });
}
