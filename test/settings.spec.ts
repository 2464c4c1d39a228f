import { describe, expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { exampleEnv } from '../src/adapters/cli/setting.js';
import { readConfig } from '../src/config.js';
import { SETTINGS } from '../src/settings.js';

describe('the settings', () => {
  it('are all that the configuration reads, and no others', () => {
    const asked = new Set<string>();
    const spy = (values: Record<string, string>) =>
      new Proxy(values, { get: (target, name: string) => (asked.add(name), target[name]) });
    readConfig(spy({}));
    // METRICS_HOST is asked for only with a port.
    readConfig(spy({ METRICS_PORT: '0' }));
    expect([...asked].sort()).toEqual(SETTINGS.map(({ name }) => name).sort());
  });

  it('have their defaults in .env.example, which is what example-env prints', () => {
    const example = readFileSync('.env.example', 'utf8');
    expect(example).toBe(`${exampleEnv(SETTINGS)}\n`);
    expect(parseEnv(example)).toEqual({});
    const uncommented = parseEnv(example.replaceAll(/^# (?=[A-Z_]+=)/gm, '')) as Record<string, string>;
    expect(Object.keys(uncommented).sort()).toEqual(SETTINGS.map(({ name }) => name).sort());
    expect(readConfig(uncommented)).toEqual(readConfig({}));
    const others = { METRICS_PORT: '0', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:4318' };
    expect(readConfig({ ...uncommented, ...others })).toEqual(readConfig(others));
  });

  it('take their examples', () => {
    for (const setting of SETTINGS) {
      // The file of the example is not there.
      if (!('example' in setting) || setting.name === 'API_KEYS_FILE') continue;
      expect(() => readConfig({ [setting.name]: setting.example })).not.toThrow();
    }
  });

  it('are all on the page of the settings', () => {
    const page = readFileSync('docs/settings.md', 'utf8');
    const named = [...page.matchAll(/^\| (`[^|]+)\|/gm)].flatMap(([, cell = '']) => cell.match(/[A-Z_]+/g) ?? []);
    expect([...named].sort()).toEqual(SETTINGS.map(({ name }) => name).sort());
  });
});
