import { describe, expect, it } from '@jest/globals';
import { Log } from '../../../src/adapters/log/log.js';
import { LogSettings } from '../../../src/adapters/log/log-settings.js';

function written(settings: LogSettings, say: (log: Log) => void): string {
  let text = '';
  say(new Log(settings, (line) => (text += line)));
  return text;
}

const REQUEST = {
  id: 'a1',
  method: 'GET',
  route: '/v1/pets',
  operation: 'listPets',
  status: 200,
  duration: 1.23456,
  key: 'my shop',
  aborted: false,
  trace: undefined,
};

describe('the log', () => {
  it('writes for people if it is not for programs', () => {
    const text = written({ level: 'info', json: false }, (log) => log.request(REQUEST));
    expect(text).toMatch(
      /^\d\d:\d\d:\d\d\.\d{3} INFO {2}request=a1 method=GET route=\/v1\/pets status=200 ms=1\.235 key="my shop"\n$/,
    );
  });

  it('writes the line of a request as JSON, whatever its key is called', () => {
    const key = 'a "b" \\';
    const trace = { traceId: 'c'.repeat(32), spanId: 'd'.repeat(16) };
    const text = written({ level: 'info', json: true }, (log) =>
      log.request({ ...REQUEST, key, aborted: true, trace }),
    );
    expect(text.endsWith('}\n')).toBe(true);
    const fields = { request: 'a1', method: 'GET', route: '/v1/pets', status: 200, ms: 1.235, key, aborted: true };
    expect(JSON.parse(text)).toEqual({
      ...{ level: 'info', time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]{12}Z$/), ...fields },
      ...{ trace_id: trace.traceId, span_id: trace.spanId },
    });
  });

  it('leaves out of the line of a request what is not known', () => {
    const unknown = { method: undefined, route: undefined, status: 0, key: undefined };
    const text = written({ level: 'info', json: true }, (log) => log.request({ ...REQUEST, ...unknown }));
    expect(JSON.parse(text)).toEqual({ level: 'info', time: expect.any(String), request: 'a1', ms: 1.235 });
  });

  it.each([true, false])('lets no control character through (JSON: %s)', (json) => {
    const text = written({ level: 'info', json }, (log) => log.warn('a\x1b[2Jb\r\u009b', { request: '\x07' }, 'http'));
    expect(text).toMatch(/^[^\p{Cc}]+\n$/u);
    expect(text).toContain('\\u001b[2J');
  });

  it('writes an error as its stack, without the values that a driver hangs on it', () => {
    const error = Object.assign(new Error('The disk is full.'), { parameters: ['Bella'] });
    const text = written({ level: 'info', json: true }, (log) => log.error(error, { request: 'a1' }, 'http'));
    expect(JSON.parse(text)).toMatchObject({
      level: 'error',
      part: 'http',
      request: 'a1',
      msg: expect.stringContaining('log.spec'),
    });
    expect(text).not.toContain('Bella');
  });

  it('keeps a stack that it was given besides the message', () => {
    const text = written({ level: 'info', json: false }, (log) =>
      log.error('It broke.', 'Error: it\n    at here', 'http'),
    );
    expect(text).toMatch(/ ERROR It broke\. part=http\nError: it\n {4}at here\n$/);
  });

  it.each([
    ['silent', []],
    ['error', ['e']],
    ['warn', ['w', 'e']],
    ['info', ['w', 'e']],
    ['debug', ['n', 'w', 'e']],
  ] as const)('writes at the level %s what weighs enough', (level, expected) => {
    const text = written({ level, json: true }, (log) => {
      log.log('n');
      log.warn('w');
      log.error('e');
    });
    const said = text.split('\n').filter(Boolean);
    expect(said.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual(expected);
  });

  it('tells of a health check only if it fails, unless it is to tell all', () => {
    const health = { ...REQUEST, route: '/health/ready' };
    expect(written({ level: 'info', json: true }, (log) => log.request(health))).toBe('');
    expect(written({ level: 'debug', json: true }, (log) => log.request(health))).toContain('"status":200');
    expect(written({ level: 'info', json: true }, (log) => log.request({ ...health, status: 503 }))).toContain('503');
  });
});
