import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { mkdtempSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CollectedSpan, Collector } from '../../support/collector.js';
import { Connection } from '../../support/connection.js';
import { freshFolder } from '../../support/fresh-folder.js';
import { buildProgram } from '../../support/program.js';
import { freePort } from '../../support/servers.js';
import { lastingKinds, TestStore } from '../../support/stores.js';
import { RunningService, WorkingFolder } from '../../support/working-folder.js';

const KEY = 'key-of-the-tracing-test';
const PRODUCTION = { NODE_ENV: 'production', API_KEYS: KEY };

/** The trace of a client, and its own span in it. */
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT = '00f067aa0ba902b7';

/** What is no `traceparent` (W3C Trace Context, section 3.2). */
const MALFORMED = [
  `00-${TRACE}-${PARENT}`,
  `00-${TRACE}-${PARENT}-01-more`,
  `00-${TRACE.toUpperCase()}-${PARENT}-01`,
  `00-${'0'.repeat(32)}-${PARENT}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `ff-${TRACE}-${PARENT}-01`,
  `00-${TRACE}-${PARENT}-0g`,
  `00-${TRACE}-${PARENT}-01, 00-${TRACE}-${PARENT}-01`,
  'x'.repeat(4_000),
];

type Line = Record<string, unknown>;

/** The lines of the requests in a log, by the ids of the requests. */
function requestLines({ log }: RunningService): Map<string, Line> {
  const lines = log.split('\n').filter((line) => line.startsWith('{"'));
  const parsed = lines.map((line) => JSON.parse(line) as Line).filter((line) => 'request' in line);
  return new Map(parsed.map((line) => [String(line.request), line]));
}

function warnings({ log }: RunningService): string[] {
  const lines = log.split('\n').filter((line) => line.startsWith('{"level":"warn"'));
  return lines.map((line) => (JSON.parse(line) as { msg: string }).msg);
}

beforeAll(() => {
  buildProgram();
});

describe.each(lastingKinds)('the traces on $name', (kind) => {
  let store: TestStore;
  let folder: WorkingFolder;
  let collector: Collector;
  let lines: Map<string, Line>;
  let began: number;
  let ended: number;

  /** The span of the request with this id. */
  const spanOf = (id: string): CollectedSpan =>
    collector.spans.find(({ spanId }) => spanId === lines.get(id)?.span_id) as CollectedSpan;

  /** The spans below this one. */
  const below = ({ spanId, traceId }: CollectedSpan): CollectedSpan[] =>
    collector.spans.filter((span) => span.parentSpanId === spanId && span.traceId === traceId);

  beforeAll(async () => {
    store = await kind.create();
    collector = await Collector.open();
    folder = new WorkingFolder(buildProgram());
    began = Date.now();
    const service = await folder.serve({
      ...PRODUCTION,
      DATABASE_URL: store.url,
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    });
    const port = Number(new URL(service.address).port);
    const send = (id: string, path: string, headers: Record<string, string> = {}, body?: object) =>
      service.send(KEY, path, {
        method: body ? 'POST' : 'GET',
        headers: { 'X-Request-Id': id, 'Content-Type': 'application/json', ...headers },
        ...(body && { body: JSON.stringify(body) }),
      });
    const traceparent = `00-${TRACE}-${PARENT}-01`;
    await send('create', '/pets', { traceparent, tracestate: 'a=b' }, { name: 'Zaphod', categoryId: 424242 });
    await send('find', '/pets/1');
    await send('list', '/pets?status=available&limit=7');
    await send('missing', '/pets/424243');
    await send('unauthorized', '/pets', { Authorization: 'Bearer none' });
    await send('nowhere', `/${'x'.repeat(1_000)}?secret=hunter2`);
    await send('unsampled', '/pets/1', { traceparent: `00-${TRACE}-${PARENT}-00` });
    await send('later-version', '/pets/1', { traceparent: `01-${TRACE}-${PARENT}-01-more` });
    for (const [i, malformed] of MALFORMED.entries())
      await send(`malformed-${i}`, '/pets/1', { traceparent: malformed });
    await send('idempotent', '/pets', { 'Idempotency-Key': 'hunter2' }, { name: 'Zaphod', categoryId: 7 });
    await Promise.all(
      Array.from({ length: 12 }, (_, i) => send(`together-${i}`, '/pets', {}, { name: 'Zaphod', categoryId: i })),
    );
    await Connection.ask(port, 'PROPFIND /v1/pets HTTP/1.1\r\nHost: x\r\nX-Request-Id: propfind\r\n\r\n');
    await fetch(`http://127.0.0.1:${port}/health/ready`);
    await service.end('SIGTERM');
    ended = Date.now();
    lines = requestLines(service);
  });

  afterAll(async () => {
    await folder.remove();
    await collector.close();
    await store.remove();
  });

  it('have the span of a create below that of the client, and those of its commit and question below that', () => {
    const span = spanOf('create');
    expect(span).toMatchObject({
      traceId: TRACE,
      parentSpanId: PARENT,
      traceState: 'a=b',
      name: 'POST /v1/pets',
      kind: 'SERVER',
      isError: false,
      links: [],
    });
    expect(span.attributes).toEqual({
      'http.request.method': 'POST',
      'http.route': '/v1/pets',
      'http.response.status_code': 201,
      'url.path': '/v1/pets',
      'url.scheme': 'http',
      'server.address': '127.0.0.1',
    });
    const commit = below(span).find(({ kind }) => kind === 'INTERNAL') as CollectedSpan;
    expect(commit).toMatchObject({ name: 'commit', attributes: { 'petstore.commit.pets': 1 }, links: [] });
    const [question, ...others] = below(commit);
    expect(others).toEqual([]);
    expect(question).toMatchObject({ name: 'INSERT pet', kind: 'CLIENT', isError: false, links: [] });
    expect(question?.attributes).toEqual({
      'db.system.name': kind.name.toLowerCase(),
      'db.operation.name': 'INSERT',
      'db.collection.name': 'pet',
      'db.query.summary': 'INSERT pet',
    });
    for (const { start, end } of [span, commit, question as CollectedSpan]) {
      expect(start).toBeGreaterThanOrEqual(began - 1);
      expect(end).toBeGreaterThanOrEqual(start);
      expect(end).toBeLessThanOrEqual(ended + 1);
    }
  });

  it.each([
    ['find', 'GET /v1/pets/:petId', 200],
    ['list', 'GET /v1/pets', 200],
    ['missing', 'GET /v1/pets/:petId', 404],
  ] as const)('have the span of a request to %s, and that of its question below', (id, name, status) => {
    const span = spanOf(id);
    expect(span).toMatchObject({ parentSpanId: undefined, name, kind: 'SERVER', isError: false });
    expect(span.attributes).toMatchObject({ 'http.response.status_code': status });
    expect(below(span).map(({ name, kind }) => [name, kind])).toEqual([['SELECT pet', 'CLIENT']]);
  });

  it('have spans of what is refused, no longer than they need be', () => {
    expect(spanOf('unauthorized')).toMatchObject({ isError: false, attributes: { 'http.response.status_code': 401 } });
    expect(spanOf('nowhere').attributes['url.path']).toHaveLength(256);
    const { name, attributes } = spanOf('propfind');
    expect(name).toMatch(/^HTTP\b/);
    expect(attributes).toMatchObject({ 'http.request.method': '_OTHER' });
  });

  it('leave out what the client says is not kept, and health checks', () => {
    expect(lines.get('unsampled')).toMatchObject({ trace_id: TRACE });
    expect(spanOf('unsampled')).toBeUndefined();
    expect(collector.text).not.toContain('/health');
  });

  it('understand a later version of traceparent, and take what is malformed for absent', () => {
    expect(spanOf('later-version')).toMatchObject({ traceId: TRACE, parentSpanId: PARENT });
    for (const i of MALFORMED.keys()) {
      expect(spanOf(`malformed-${i}`).parentSpanId).toBeUndefined();
      expect(spanOf(`malformed-${i}`).traceId).not.toBe(TRACE);
    }
  });

  it('have a commit that requests share below one of them, with links to all and from the others', () => {
    const requests = Array.from({ length: 12 }, (_, i) => spanOf(`together-${i}`));
    const commits = collector.spans.filter(({ name, links }) => name === 'commit' && links.length > 1);
    expect(commits).not.toEqual([]);
    for (const commit of commits) {
      const sharers = requests.filter(({ spanId }) => commit.links.includes(spanId));
      expect(sharers).toHaveLength(Number(commit.attributes['petstore.commit.pets']));
      for (const { spanId, links } of sharers) {
        expect(links).toEqual(spanId === commit.parentSpanId ? [] : [commit.spanId]);
      }
      expect(sharers.map(({ spanId }) => spanId)).toContain(commit.parentSpanId);
      expect(below(commit).map(({ name }) => name)).toEqual(['INSERT pet']);
    }
    const shared = requests.filter(({ spanId }) => collector.spans.some(({ links }) => links.includes(spanId)));
    const alone = requests.filter((span) => !shared.includes(span));
    for (const request of alone) expect(below(request).map(({ name }) => name)).toEqual(['commit']);
  });

  it('have nothing of a pet, a key or a query in them', () => {
    for (const secret of ['Zaphod', '424242', 'hunter2', KEY, 'secret', 'limit=7']) {
      expect(collector.text).not.toContain(secret);
    }
  });

  it('name the service', () => {
    const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string };
    for (const { resource } of collector.spans) {
      expect(resource).toMatchObject({
        'service.name': 'petstore',
        'service.version': version,
        'service.instance.id': expect.stringMatching(/./) as unknown,
        'deployment.environment.name': 'test',
      });
    }
  });
});

describe('the tracing of a service', () => {
  const folder = freshFolder();
  let collector: Collector;

  beforeEach(async () => {
    collector = await Collector.open();
  });

  afterEach(() => collector.close());

  const serve = (variables: Record<string, string> = {}) =>
    folder().serve({ ...PRODUCTION, OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, ...variables });

  it('has an error in the span of a request and of a question if the database fails', async () => {
    const service = await serve();
    // Nobody but the service may write the file: it is broken under its hands.
    const { default: Libsql } = await import('libsql');
    const database = new Libsql(join(folder().path, 'data/petstore.sqlite'));
    database.exec('DROP TABLE pet');
    database.close();
    expect((await service.send(KEY, '/pets/1')).status).toBeGreaterThanOrEqual(500);
    await service.end('SIGTERM');
    const [request] = collector.spans.filter(({ kind }) => kind === 'SERVER');
    expect(request).toMatchObject({ isError: true, attributes: { 'error.type': expect.stringMatching(/^50[03]$/) } });
    const [question] = collector.spans.filter(({ kind }) => kind === 'CLIENT');
    expect(question).toMatchObject({ isError: true, attributes: { 'error.type': expect.stringMatching(/^SQLITE_/) } });
  });

  it('keeps the part of the traces that the sampler says', async () => {
    const service = await serve({ OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' });
    await service.send(KEY, '/pets', { headers: { traceparent: `00-${TRACE}-${PARENT}-01` } });
    await service.end('SIGTERM');
    expect(collector.spans).toEqual([]);
  });

  it('tells of settings that the SDK cannot read as of all else, and repeats no address', async () => {
    const service = await serve({
      OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'http:///me:hunter2@a b',
      OTEL_EXPORTER_OTLP_TIMEOUT: 'soon',
    });
    await service.end('SIGTERM');
    for (const line of service.log.trimEnd().split('\n')) expect(line).toMatch(/^\{"level":"/);
    expect(warnings(service).join()).toContain('OTEL_EXPORTER_OTLP_TIMEOUT');
    expect(service.log).not.toContain('hunter2');
  });

  it('tells each worker apart', async () => {
    const service = await serve({ WEB_CONCURRENCY: '2', OTEL_SERVICE_NAME: 'pets' });
    for (let i = 0; i < 8; i++) await service.send(KEY, '/pets', { headers: { Connection: 'close' } });
    expect(await service.end('SIGTERM')).toBe(0);
    expect(collector.spans.filter(({ kind }) => kind === 'SERVER')).toHaveLength(8);
    expect(new Set(collector.spans.map(({ resource }) => resource['service.name']))).toEqual(new Set(['pets']));
    expect(new Set(collector.spans.map(({ resource }) => resource['service.instance.id'])).size).toBe(2);
  });

  it('stops as soon if the collector is away, refuses or hangs, and tells of the loss once', async () => {
    const away = `http://127.0.0.1:${await freePort()}`;
    for (const [mood, endpoint] of [
      ['takes', away],
      ['refuses', collector.endpoint],
      ['hangs', collector.endpoint],
    ] as const) {
      collector.mood = mood;
      const service = await serve({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, STOP_TIMEOUT: '6000' });
      for (let i = 0; i < 20; i++) expect((await service.send(KEY, '/pets')).status).toBe(200);
      expect(await service.end('SIGTERM')).toBe(0);
      expect(warnings(service)).toEqual([
        mood === 'refuses'
          ? 'Traces cannot be delivered (Forbidden, 403); they are dropped until they can.'
          : 'Traces were not taken within 300 ms; the last spans are lost.',
      ]);
      expect(service.log).toContain('"The pet store is closed."');
    }
  });

  it('loads nothing of OpenTelemetry unless it is set, and then tells of the trace of the client', async () => {
    const loadedBy = async (variables: Record<string, string>) => {
      const coverage = mkdtempSync(join(folder().path, 'coverage-'));
      const service = await folder().serve({ ...PRODUCTION, NODE_V8_COVERAGE: coverage, ...variables });
      const headers = { 'X-Request-Id': 'traced', traceparent: `00-${TRACE}-${PARENT}-01` };
      await service.send(KEY, '/pets', { headers });
      await service.send(KEY, '/pets', { headers: { 'X-Request-Id': 'bad', traceparent: MALFORMED[0] as string } });
      await service.end('SIGTERM');
      const [report] = readdirSync(coverage).map((file) => readFileSync(join(coverage, file), 'utf8'));
      const { result } = JSON.parse(report as string) as { result: { url: string }[] };
      const files = result
        .filter(({ url }) => url.startsWith('file:'))
        .map(({ url }) => readFileSync(new URL(url), 'utf8'));
      return {
        lines: requestLines(service),
        traces: files.filter((text) => text.includes('node_modules/@opentelemetry/')).length,
      };
    };
    const without = await loadedBy({});
    expect(without.traces).toBe(0);
    expect(without.lines.get('traced')).toMatchObject({ trace_id: TRACE });
    expect(without.lines.get('traced')).not.toHaveProperty('span_id');
    expect(without.lines.get('bad')).not.toHaveProperty('trace_id');
    const withTraces = await loadedBy({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
    expect(withTraces.traces).toBeGreaterThan(0);
    expect(withTraces.lines.get('traced')).toMatchObject({ trace_id: TRACE, span_id: expect.any(String) as unknown });
  });
});
