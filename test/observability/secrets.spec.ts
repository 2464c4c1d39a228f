import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { keyText } from '../../src/domain/keys/api-key.js';
import { Collector } from '../support/collector.js';
import { newPetJson } from '../support/fields.js';
import { freePort } from '../support/servers.js';
import { Service } from '../support/service.js';
import { linesOf, until } from '../support/working-folder.js';

const KEY = keyText('0123456789abcdefABCDEF'.padEnd(30, 'x'));
const HIDDEN = KEY.slice(9);
const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736';

let collector: Collector;
let service: Service;
let metrics: string;
let log = '';

beforeAll(async () => {
  collector = await Collector.open();
  const port = await freePort();
  metrics = `http://127.0.0.1:${port}/metrics`;
  const variables = {
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint,
    OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json',
    OTEL_BSP_SCHEDULE_DELAY: '10',
  };
  Object.assign(process.env, variables);
  const settings = {
    NODE_ENV: 'production',
    LOG_LEVEL: 'debug',
    METRICS_PORT: String(port),
    AUTH_FAILURE_LIMIT: '1000',
  };
  service = await Service.start({ ...settings, ...variables }, (line) => (log += line));
});

afterAll(async () => {
  await service.stop();
  await collector.close();
});

const request = (target: string, headers: Record<string, string> = {}, method = 'GET', body = '') => {
  const all = { Host: 'x', Connection: 'close', Authorization: `Bearer ${service.key}`, ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`);
  const length = body === '' ? [] : [`Content-Length: ${body.length}`, ''];
  return `${[`${method} ${target} HTTP/1.1`, ...lines, ...length].join('\r\n')}\r\n${body === '' ? '\r\n' : ''}${body}`;
};

const create = (body: string, headers: Record<string, string> = {}) =>
  request('/v1/pets', { 'Content-Type': 'application/json', ...headers }, 'POST', body);

/** Requests with an API key where none belongs, by the part that has it. */
const PARTS: Readonly<Record<string, () => string>> = {
  path: () => request(`/${KEY}/pets`),
  'path below a route': () => request(`/v1/pets/${KEY}`),
  'path behind 250 characters': () => request(`/${'x'.repeat(249)}${KEY}`),
  'path, percent-encoded': () => request(`/pets/${KEY.replace('_', '%5F')}`),
  'path, percent-encoded twice': () => request(`/pets/${KEY.replace('_', '%255f')}`),
  'path, in capitals': () => request(`/PETS_${HIDDEN.padStart(36, 'x')}`),
  'path that cannot be routed': () => request(`/%/${KEY}`),
  'path of a request that cannot be parsed': () => request(`/${KEY}`, { 'Bad Header': 'x' }),
  'path of a health check': () => request(`/health/${KEY}`),
  'name of a query parameter': () => request(`/v1/pets?${KEY}=1`),
  'value of a query parameter': () => request(`/v1/pets?limit=${KEY}`),
  'query of getPet': () => request(`/v1/pets/1?key=${KEY}`),
  cursor: () => request(`/v1/pets?cursor=${KEY}`),
  fragment: () => request(`/v1/pets#${KEY}`),
  'user of the URL': () => request(`http://${KEY}@x/nowhere`),
  'password of the URL': () => request(`http://user:${KEY}@x/v1/pets`),
  host: () => request('/v1/pets', { Host: KEY }),
  Authorization: () => request('/v1/pets', { Authorization: `Bearer ${KEY}` }),
  'Authorization without a scheme': () => request('/v1/pets', { Authorization: KEY }),
  'X-API-Key': () => request('/v1/pets', { 'X-API-Key': KEY }),
  'X-Request-Id': () => request('/v1/pets', { 'X-Request-Id': KEY }),
  'X-Forwarded-For': () => request('/v1/pets', { 'X-Forwarded-For': KEY }),
  Accept: () => request('/v1/pets', { Accept: KEY }),
  Expect: () => request('/v1/pets', { Expect: KEY }),
  Origin: () => request('/v1/pets', { Origin: `https://${KEY}` }, 'OPTIONS'),
  traceparent: () => request('/v1/pets', { traceparent: KEY }),
  tracestate: () => request('/v1/pets', { traceparent: `00-${TRACE}-00f067aa0ba902b7-01`, tracestate: `a=${KEY}` }),
  baggage: () => request('/v1/pets', { baggage: `a=${KEY}` }),
  'Idempotency-Key': () => create(newPetJson(), { 'Idempotency-Key': KEY }),
  'Content-Type': () => create(newPetJson(), { 'Content-Type': KEY }),
  'Content-Encoding': () => create(newPetJson(), { 'Content-Encoding': KEY }),
  'body that is no JSON': () => create(`{${KEY}}`),
  'body that is no object': () => create(`"${KEY}"`),
  'name of a field': () => create(newPetJson({ [KEY]: '1' })),
  'value of a field': () => create(newPetJson({ status: `"${KEY}"` })),
  'value of an integer': () => create(newPetJson({ categoryId: `"${KEY}"` })),
  method: () => request('/v1/pets', {}, KEY),
};

it.each(Object.keys(PARTS))('an API key in a request leaves the service nowhere: %s', async (part) => {
  [log, collector.text] = ['', ''];
  const response = await service.raw(PARTS[part]!());
  expect(response).toMatch(/^HTTP\/1\.1 [2-4]/);
  const id = /X-Request-Id: (\S+)/.exec(response)?.[1];
  const line = () => linesOf(log).find(({ request: of }) => of === id);
  await until(() => line() !== undefined);
  const { span_id: span } = line() as { span_id?: string };
  if (span !== undefined) await until(() => collector.text.includes(span));
  const outputs = { response, log, spans: collector.text, metrics: await (await fetch(metrics)).text() };
  for (const [output, text] of Object.entries(outputs))
    expect([output, text.includes(HIDDEN)]).toEqual([output, false]);
});
