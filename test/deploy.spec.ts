import { expect, it } from '@jest/globals';
import { readFileSync } from 'node:fs';
import { loadAll } from 'js-yaml';
import { readSettings, SETTINGS } from '../src/settings/settings.js';
import { freePort } from './support/servers.js';
import { Service } from './support/service.js';

interface Container {
  readonly image: string;
  readonly command?: readonly string[];
}

const read = (file: string): string => readFileSync(file, 'utf8');

/** Where each file names the settings of the service. */
const NAMED: Readonly<Record<string, RegExp>> = {
  Dockerfile: /(?:^ENV |(?<=^ENV .*) )(\w+)=/gm,
  // Those of PostgreSQL have names of their own.
  'compose.yaml': /^ +(?!POSTGRES_)([A-Z_]+): /gm,
  'deploy/kubernetes/petstore.yaml': /^ +- (?:\{ )?name: ([A-Z_]+)\b/gm,
  'deploy/systemd/petstore.service': /^Environment=(\w+)=/gm,
};

it.each(Object.entries(NAMED))('every setting in %s exists', (file, pattern) => {
  const named = [...read(file).matchAll(pattern)].map(([, name = '']) => name);
  expect(named).not.toEqual([]);
  expect(Object.keys(SETTINGS)).toEqual(expect.arrayContaining(named));
});

it('every metric in the alerts and the dashboard exists', async () => {
  const port = await freePort();
  const service = await Service.start({ METRICS_PORT: String(port) });
  const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
  await service.stop();
  const exists = (name: string) => text.includes(`# TYPE ${name.replace(/_(?:bucket|count|sum)$/, '')} `);
  const files = ['deploy/prometheus/alerts.yaml', 'deploy/grafana/petstore.json'].map(read).join();
  const named = new Set(files.match(/\b(?:petstore|nodejs|process)_[a-z0-9_]+/g));
  expect(named.size).toBeGreaterThan(5);
  // It exists only on a database.
  const isOptional = (name: string) => name.startsWith('petstore_database_duration_seconds');
  expect([...named].filter((name) => !exists(name) && !isOptional(name))).toEqual([]);
});

it('a pod migrates before it serves, by the image that serves, with a time limit of its own', () => {
  const manifest = loadAll(read('deploy/kubernetes/petstore.yaml'))[0] as {
    spec: { progressDeadlineSeconds: number; template: { spec: Record<'initContainers' | 'containers', Container[]> } };
  };
  const { initContainers, containers } = manifest.spec.template.spec;
  const [migrating, serving] = [initContainers[0]!, containers[0]!];
  expect(migrating.image).toBe(serving.image);
  const [timeout, seconds, ...command] = migrating.command!;
  const entrypoint = JSON.parse(/^ENTRYPOINT (.*)$/m.exec(read('Dockerfile'))![1]!) as string[];
  expect([timeout, ...command]).toEqual(['timeout', ...entrypoint, 'migrate']);
  expect(manifest.spec.progressDeadlineSeconds).toBeGreaterThan(Number(seconds));
});

it('an instance gets more time to stop than it needs', () => {
  const kubernetes = read('deploy/kubernetes/petstore.yaml');
  const STOP_TIMEOUT = /name: STOP_TIMEOUT, value: '(\d+)'/.exec(kubernetes)?.[1];
  const grace = Number(/terminationGracePeriodSeconds: (\d+)/.exec(kubernetes)?.[1]);
  expect(grace * 1_000).toBeGreaterThan(readSettings({ STOP_TIMEOUT }).STOP_TIMEOUT);
  const unit = Number(/^TimeoutStopSec=(\d+)s$/m.exec(read('deploy/systemd/petstore.service'))?.[1]);
  expect(unit * 1_000).toBeGreaterThan(readSettings({}).STOP_TIMEOUT);
});

it('Yarn gets the versions that npm gets for the packages that need an older one', () => {
  const { overrides, resolutions } = JSON.parse(read('package.json')) as Record<string, object>;
  expect(overrides).toMatchObject(resolutions!);
});
