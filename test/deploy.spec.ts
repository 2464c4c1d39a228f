import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { load, loadAll, YAML11_SCHEMA } from 'js-yaml';
import type { Metrics } from '../src/adapters/metrics/metrics.js';
import { SUNSET } from '../src/adapters/http/pets/deprecation.js';
import { HealthService } from '../src/application/health.service.js';
import { Config, Environment, readConfig } from '../src/config.js';
import { describeOnServers } from './support/on-servers.js';
import { describeBehind, haproxy, ReverseProxy } from './support/reverse-proxy.js';
import { binary, freePort } from './support/servers.js';
import { Service } from './support/service.js';
import type { TestStore } from './support/stores.js';

const KEY = 'a-key-of-the-environment';
const ALERTS = 'deploy/prometheus/alerts.yaml';
const DASHBOARD = 'deploy/grafana/petstore.json';
const UNIT = 'deploy/systemd/petstore.service';
const KUBERNETES = 'deploy/kubernetes/petstore.yaml';
const COMPOSE = 'deploy/compose.yaml';
const HAPROXY = 'deploy/compose/haproxy.cfg';

const read = (file: string): string => readFileSync(file, 'utf8');

/** As Kubernetes and Compose read YAML, which is by version 1.1. */
const AS_THEY_READ = { schema: YAML11_SCHEMA };

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'petstore-deploy-'));
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Writes a file beside nothing else, and returns its path. */
function written(name: string, text: string): string {
  writeFileSync(join(folder, name), text);
  return join(folder, name);
}

/** What a program says on both outputs, for warnings go to the second one; throws if it fails. */
function said(program: string, args: string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { encoding: 'utf8' });
  if (status !== 0) throw new Error(`${program} ended with ${status}: ${stdout}${stderr}`);
  return stdout + stderr;
}

/** A case that needs a program of this machine; told as skipped if it has none, or failed if `PETSTORE_REQUIRE_DEPLOY_TOOLS` is 1. */
function itWith(
  name: string,
  install: string,
  title: string,
  test: (run: (...args: string[]) => string) => void,
): void {
  const program = binary(name, ['/usr/bin', '/usr/local/bin']);
  const missing = `${name} is not on this machine: "${title}" was left out. To run it: ${install}`;
  if (program !== undefined) {
    it(title, () => test((...args) => said(program, args)));
  } else if (process.env.PETSTORE_REQUIRE_DEPLOY_TOOLS === '1') {
    it(title, () => {
      throw new Error(missing);
    });
  } else {
    process.stderr.write(`\n${missing}\n`);
    it.skip(title, () => undefined);
  }
}

/** The names of all variables that the service reads. */
function settings(): Set<string> {
  const names = new Set<string>();
  const env: Environment = { METRICS_PORT: '0' };
  readConfig(
    new Proxy(env, {
      get: (target, name: string) => {
        names.add(name);
        return target[name];
      },
    }),
  );
  return names;
}

/** The configuration that these variables make, all of them settings of the service. */
function configOf(env: Record<string, string>): Config {
  const known = settings();
  expect(Object.keys(env).filter((name) => !known.has(name))).toEqual([]);
  return readConfig(env);
}

describeOnServers(
  'the files for Prometheus and Grafana, on $name',
  (kind) => {
    interface Rule {
      readonly alert: string;
      readonly expr: string;
      readonly annotations: Record<string, string>;
    }
    interface Panel {
      readonly title: string;
      readonly fieldConfig: { defaults: { unit: string } };
      readonly targets: { expr: string; legendFormat: string }[];
    }
    const { groups } = load(read(ALERTS)) as { groups: { rules: Rule[] }[] };
    const rules = groups.flatMap((group) => group.rules);
    const { panels } = JSON.parse(read(DASHBOARD)) as { panels: Panel[] };
    const queries = panels.flatMap(({ targets }) => targets);
    let store: TestStore;
    let service: Service;
    let metrics: Set<string>;
    let labels: Set<string>;

    beforeAll(async () => {
      store = await kind.create();
      service = await Service.start({
        DATABASE_URL: store.url,
        RATE_LIMIT: '100',
        // Nothing is there, and the metric is all the same.
        RATE_LIMIT_URL: `redis://127.0.0.1:${await freePort()}`,
        METRICS_PORT: '0',
        API_KEYS: KEY,
      });
      await service.send('/v1/pets/1');
      service.app.get(HealthService).beginStop();
      expect((await service.send('/health/ready')).status).toBe(503);
      const text = await (await fetch(`http://127.0.0.1:${service.app.get<Metrics>('Metrics').port}/metrics`)).text();
      expect(text).toMatch(/^petstore_request_duration_seconds_count\{operation="other",status="503"\} 1$/m);
      metrics = new Set([...text.matchAll(/^(?:# TYPE )?(\w+)[{ ]/gm)].map(([, name]) => name as string));
      labels = new Set([...text.matchAll(/(\w+)="/g)].map(([, name]) => name as string));
    });

    afterAll(async () => {
      await service.stop();
      await store.remove();
    });

    /** What a query names: metrics, and labels. */
    function names(query: string): { metrics: string[]; labels: string[] } {
      const bare = query.replace(/"[^"]*"/g, '""');
      const groupings = /\b(?:by|on) \(([^)]*)\)/g;
      // Without selectors, ranges and groupings, what is neither called nor an operator is a metric.
      const words = bare.replace(/\{[^}]*\}|\[[^\]]*\]/g, '').replace(groupings, '');
      return {
        metrics: [...words.matchAll(/\b[a-z_]\w*\b(?!\s*\()/g)].map(([name]) => name).filter((name) => name !== 'and'),
        labels: [
          ...[...bare.matchAll(/(\w+)[=!~]+""/g)].map(([, name]) => name as string),
          ...[...bare.matchAll(groupings)].flatMap(([, list]) => (list as string).match(/\w+/g) ?? []),
        ],
      };
    }

    it.each([
      ...rules.map(({ alert, expr }) => [alert, expr]),
      ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr])),
    ])('%s asks for metrics and labels that there are', (_name, query) => {
      const asked = names(query);
      expect(asked.metrics.length).toBeGreaterThan(0);
      // Prometheus makes `up` itself, and two of the labels; the others are those of standbys, of which this server has none.
      expect(asked.metrics.filter((name) => name !== 'up' && !metrics.has(name))).toEqual([]);
      expect(
        asked.labels.filter((name) => !['job', 'instance', 'standby', 'address'].includes(name) && !labels.has(name)),
      ).toEqual([]);
    });

    it('words name labels that the query leaves', () => {
      for (const [text, expr] of [
        ...rules.map(({ annotations, expr }) => [JSON.stringify(annotations), expr] as const),
        ...queries.map(({ legendFormat, expr }) => [legendFormat, expr] as const),
      ]) {
        const left = /\bby \(([^)]*)\)/.exec(expr)?.[1]?.match(/\w+/g) ?? ['instance'];
        const named = [...text.matchAll(/\{\{ ?(?:\$labels\.)?(\w+) ?\}\}/g)].map(([, name]) => name as string);
        expect([text, named.filter((name) => !left.includes(name))]).toEqual([text, []]);
      }
    });

    it('each panel has a title, a unit and a query, and an identifier of its own', () => {
      for (const panel of panels) {
        expect(panel).toMatchObject({
          title: expect.stringMatching(/./),
          fieldConfig: { defaults: { unit: expect.stringMatching(/^\w+$/) } },
          targets: expect.arrayContaining([{ ...panel.targets[0], expr: expect.stringMatching(/./) }]),
        });
      }
      expect(new Set(panels.map((panel) => (panel as unknown as { id: number }).id)).size).toBe(panels.length);
      expect(new Set(panels.map(({ title }) => title)).size).toBe(panels.length);
    });

    const sunset = Date.parse(SUNSET) / 1_000;
    const warned = Number(
      /time\(\)\) > (\d+)/.exec(rules.find(({ alert }) => alert.includes('Deprecated'))?.expr ?? '')?.[1],
    );

    it('the alert of deprecated calls begins half a year before the operation is to be removed, and tells when that is', () => {
      const date = new Date(sunset * 1_000);
      date.setUTCMonth(date.getUTCMonth() - 6);
      expect(warned).toBe(date.getTime() / 1_000);
      expect(read(ALERTS)).toContain('removed on 5 December 2030');
      expect(new Date(SUNSET).toISOString()).toBe('2030-12-05T00:00:00.000Z');
    });

    const PROMETHEUS = 'apt-get install --no-install-recommends prometheus';

    itWith('promtool', PROMETHEUS, 'promtool takes the alerts, and the queries of the dashboard', (promtool) => {
      expect(promtool('check', 'rules', ALERTS)).toContain(`SUCCESS: ${rules.length} rules found`);
      const records = queries.map(({ expr }, i) => ({
        record: `panel_${i}`,
        expr: expr.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*'),
      }));
      const file = written('panels.yaml', JSON.stringify({ groups: [{ name: 'panels', rules: records }] }));
      expect(promtool('check', 'rules', file)).toContain(`SUCCESS: ${queries.length} rules found`);
    });

    itWith('promtool', PROMETHEUS, 'each alert fires when it should, and none when all is well', (promtool) => {
      const of = (metric: string, more = '') => `${metric}{job="petstore", instance="a"${more}}`;
      const requests = (status: string, operation = 'listPets') =>
        of('petstore_request_duration_seconds_count', `, operation="${operation}", status="${status}"`);
      const bucket = (le: string) =>
        of('petstore_request_duration_seconds_bucket', `, operation="listPets", status="200", le="${le}"`);
      const waiting = of('petstore_database_connections', ', pool="read", state="waiting"');
      const lag = of('petstore_database_replication_lag_bytes', ', standby="second", address="10.0.0.2"');
      const well: Record<string, string> = {
        [of('up')]: '1x60',
        [requests('200')]: '0+6000x60',
        [requests('500')]: '0+30x60',
        [requests('200', 'other')]: '0+60x60',
        [bucket('0.5')]: '0+6000x60',
        [bucket('2.5')]: '0+6000x60',
        [bucket('+Inf')]: '0+6000x60',
        [waiting]: '0x60',
        [of('petstore_database_role', ', role="primary"')]: '1x60',
        [of('petstore_database_role', ', role="standby"')]: '0x60',
        [of('petstore_database_role', ', role="unknown"')]: '0x60',
        [lag]: '1000000x60',
        [of('petstore_limits_shared')]: '1x60',
        [of('nodejs_eventloop_lag_p99_seconds')]: '0.01x60',
        [of('petstore_deprecated_calls_total', ', operation="getPet", key="shop"')]: '5x60',
      };
      const cases: Record<string, Record<string, string>> = {
        PetstoreDown: { [of('up')]: '_x60' },
        PetstoreInstanceDown: { 'up{job="petstore", instance="b"}': '0x60' },
        PetstoreNotReady: { [requests('503', 'other')]: '0+30x60' },
        PetstoreErrors: { [requests('500')]: '0+90x60' },
        PetstoreSlow: { [bucket('0.5')]: '0+5900x60' },
        PetstorePoolUsedUp: { [waiting]: '1x60' },
        PetstoreNotOnPrimary: {
          [of('petstore_database_role', ', role="primary"')]: '0x60',
          [of('petstore_database_role', ', role="unknown"')]: '1x60',
        },
        PetstoreReplicationLag: { [lag]: '0+10000000x60' },
        PetstoreLimitsNotShared: { [of('petstore_limits_shared')]: '0x60' },
        PetstoreEventLoopLag: { [of('nodejs_eventloop_lag_p99_seconds')]: '0.5x60' },
        PetstoreDeprecatedCalls: {
          [of('petstore_deprecated_calls_total', ', operation="getPet", key="shop"')]: '0+1x60',
        },
      };
      expect(Object.keys(cases).sort()).toEqual(rules.map(({ alert }) => alert).sort());
      const firing = (series: Record<string, string>, alerts: string[], minutes = 50) => ({
        interval: '1m',
        input_series: Object.entries({ ...well, ...series }).map(([name, values]) => ({ series: name, values })),
        promql_expr_test: [
          {
            expr: 'group by (alertname) (ALERTS{alertstate="firing"})',
            eval_time: `${minutes}m`,
            exp_samples: alerts.map((alert) => ({ labels: `{alertname="${alert}"}`, value: 1 })),
          },
        ],
      });
      // The tests of promtool begin in 1970: the date comes after forty minutes there.
      written('alerts.yaml', read(ALERTS).replace(String(warned), '2400'));
      const file = written(
        'alerts.test.yaml',
        JSON.stringify({
          rule_files: ['alerts.yaml'],
          evaluation_interval: '1m',
          tests: [
            firing({}, []),
            firing(cases.PetstoreDeprecatedCalls as Record<string, string>, [], 39),
            ...Object.entries(cases).map(([alert, series]) => firing(series, [alert])),
          ],
        }),
      );
      expect(promtool('test', 'rules', file)).toContain('SUCCESS');
    });
  },
  'PostgreSQL',
);

describe('the unit of systemd', () => {
  const SYSTEMD = 'apt-get install --no-install-recommends systemd';
  const values = (name: string): string[] =>
    [...read(UNIT).matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value]) => value as string);
  const environment = () =>
    Object.fromEntries(values('Environment').map((pair) => pair.split(/=(.*)/s).slice(0, 2) as [string, string]));

  /** As it is, but for where this machine has Node. */
  const unit = () => written('petstore.service', read(UNIT).replace('/usr/bin/node', process.execPath));

  it('sets what the service knows, and gives it more time than it needs to stop', () => {
    const { API_KEYS_FILE, ...others } = environment();
    expect(settings()).toContain('API_KEYS_FILE');
    expect(values('LoadCredential')).toEqual([`${API_KEYS_FILE?.replace('%d/', '')}:/etc/petstore/api-keys`]);
    const { production, database, stopTimeout } = configOf(others);
    expect(production).toBe(true);
    expect(database).toEqual({ engine: 'sqlite', file: `/var/lib/${values('StateDirectory')[0]}/petstore.sqlite` });
    expect(Number(/^(\d+)s$/.exec(values('TimeoutStopSec')[0] as string)?.[1]) * 1_000).toBeGreaterThan(stopTimeout);
    expect(values('KillMode')).toEqual(['mixed']);
    expect(values('MemoryDenyWriteExecute')).toEqual([]);
  });

  itWith('systemd-analyze', SYSTEMD, 'systemd finds nothing wrong in it', (analyze) => {
    expect(analyze('verify', '--man=no', unit())).toBe('');
  });

  itWith('systemd-analyze', SYSTEMD, 'what it exposes is at most 1.5 of 10', (analyze) => {
    expect(analyze('security', '--offline=true', '--threshold=15', unit())).toMatch(/exposure level .*: 1\.\d OK/);
  });
});

describe('the manifest for Kubernetes', () => {
  interface Probe {
    readonly httpGet: { path: string; port: string };
    readonly timeoutSeconds?: number;
    readonly periodSeconds: number;
    readonly failureThreshold: number;
  }
  interface Container {
    readonly ports: { name: string; containerPort: number }[];
    readonly env: { name: string; value?: string; valueFrom?: { secretKeyRef: { name: string; key: string } } }[];
    readonly volumeMounts: { name: string; mountPath: string }[];
    readonly resources: { requests: { memory: string }; limits: { memory: string } };
    readonly startupProbe: Probe;
    readonly livenessProbe: Probe;
    readonly readinessProbe: Probe;
    readonly securityContext: object;
  }
  interface Pod {
    readonly terminationGracePeriodSeconds: number;
    readonly securityContext: { runAsUser: number; runAsGroup: number };
    readonly containers: [Container];
    readonly volumes: { name: string; secret: { secretName: string; defaultMode: number } }[];
  }
  interface Manifest {
    readonly kind: string;
    readonly metadata: { labels: object };
    readonly spec: {
      replicas: number;
      minAvailable: number;
      selector: { matchLabels: object };
      ports: { targetPort: string }[];
      template: { metadata: { labels: object; annotations: Record<string, string> }; spec: Pod };
    };
  }
  const manifests = loadAll(read(KUBERNETES), AS_THEY_READ) as unknown as [Manifest, Manifest, Manifest];
  const [deployment, service, budget] = manifests;
  const pod = deployment.spec.template.spec;
  const [container] = pod.containers;

  const config = () => {
    const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value ?? '']));
    expect(env).toMatchObject({ API_KEYS_FILE: '/run/secrets/petstore/api-keys', DATABASE_URL: '' });
    return configOf({ ...env, API_KEYS_FILE: '', DATABASE_URL: 'postgres://me:secret@db:5432/pets' });
  };

  it('is a Deployment of two, a Service and a PodDisruptionBudget that mean the same pods', () => {
    expect(manifests.map(({ kind }) => kind)).toEqual(['Deployment', 'Service', 'PodDisruptionBudget']);
    const { labels } = deployment.spec.template.metadata;
    expect(deployment.spec.selector.matchLabels).toEqual(labels);
    expect(service.spec.selector).toEqual(labels);
    expect(budget.spec.selector.matchLabels).toEqual(labels);
    expect(deployment.spec.replicas).toBe(2);
    expect(budget.spec.minAvailable).toBeLessThan(deployment.spec.replicas);
  });

  it('sets what the service knows, on the ports that are named', () => {
    const { port, metrics, host } = config();
    expect(container.ports.map(({ containerPort }) => containerPort)).toEqual([port, metrics?.port]);
    expect([host, metrics?.host]).toEqual(['0.0.0.0', '0.0.0.0']);
    expect(deployment.spec.template.metadata.annotations['prometheus.io/port']).toBe(String(metrics?.port));
    expect(service.spec.ports.map(({ targetPort }) => targetPort)).toEqual(['http']);
  });

  it('has its secrets from Secrets, the keys in a file that the group of the pod may read', () => {
    const secrets = container.env.filter(({ valueFrom }) => valueFrom);
    expect(secrets).toEqual([
      { name: 'DATABASE_URL', valueFrom: { secretKeyRef: { name: 'petstore-database', key: 'url' } } },
    ]);
    expect(container.volumeMounts).toMatchObject([{ name: 'api-keys', mountPath: '/run/secrets/petstore' }]);
    expect(pod.volumes).toEqual([
      { name: 'api-keys', secret: { secretName: 'petstore-api-keys', defaultMode: 0o440 } },
    ]);
    for (const name of ['petstore-database --from-literal=url=', 'petstore-api-keys --from-file=api-keys='])
      expect(read(KUBERNETES)).toContain(`kubectl create secret generic ${name}`);
  });

  it('leaves a stop the time that it needs, and the balancer that to notice', () => {
    const { stopDelay, stopTimeout, http } = config();
    expect(stopDelay + http.stopLinger).toBeLessThan(stopTimeout);
    expect(stopTimeout).toBeLessThan(pod.terminationGracePeriodSeconds * 1_000);
    const { periodSeconds, failureThreshold } = container.readinessProbe;
    expect(periodSeconds * failureThreshold * 1_000).toBeLessThan(stopDelay);
  });

  it('probes addresses that there are, and waits for longer than the service does', async () => {
    const instance = await Service.start();
    for (const probe of [container.startupProbe, container.livenessProbe, container.readinessProbe]) {
      expect(probe.httpGet.port).toBe('http');
      expect((await instance.send(probe.httpGet.path, { key: false })).status).toBe(200);
    }
    await instance.stop();
    expect([container.startupProbe, container.livenessProbe].map(({ httpGet }) => httpGet.path)).toEqual(
      Array(2).fill('/health/live'),
    );
    expect(container.readinessProbe.httpGet.path).toBe('/health/ready');
    expect(container.readinessProbe.timeoutSeconds).toBeGreaterThan(1.5);
  });

  it('runs as the user of the Dockerfile, by number, without rights', () => {
    const { runAsUser, runAsGroup } = pod.securityContext;
    expect(/^USER (.*)$/m.exec(read('Dockerfile'))?.[1]).toBe(`${runAsUser}:${runAsGroup}`);
    expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
  });

  it('asks for more memory than was measured after a load', () => {
    const after = Number(/^\| this service \| \d+ \| \d+ \| (\d+) \|$/m.exec(read('docs/benchmark.md'))?.[1]);
    const { requests, limits } = container.resources;
    const size = (text: string) => Number(/^(\d+)Mi$/.exec(text)?.[1]) * 1.048576;
    expect(size(requests.memory)).toBeGreaterThan(after);
    expect(size(limits.memory)).toBeGreaterThan(size(requests.memory));
  });
});

describe('deploy/compose.yaml', () => {
  interface Container {
    readonly image?: string;
    readonly build?: string | { dockerfile_inline: string };
    readonly entrypoint?: string[];
    readonly command?: string[];
    readonly environment?: Record<string, string>;
    readonly secrets?: string[];
    readonly volumes?: string[];
    readonly ports?: string[];
    readonly stop_grace_period?: string;
    readonly depends_on?: string[] | Record<string, object>;
  }
  const compose = load(read(COMPOSE), AS_THEY_READ) as {
    services: Record<string, Container>;
    secrets: Record<string, { file: string }>;
    volumes: object;
  };
  const { services } = compose;
  const instances = ['petstore-1', 'petstore-2'].map((name) => services[name] as Container);
  const named = (name: string) => services[name] as Container;

  it('leads to what it has: files, secrets, volumes, containers', () => {
    for (const { secrets = [], volumes = [], depends_on = [] } of Object.values(services)) {
      for (const secret of secrets) expect(compose.secrets).toHaveProperty([secret]);
      for (const [source = ''] of volumes.map((volume) => volume.split(':'))) {
        if (source.startsWith('.')) expect(statSync(join('deploy', source)).isFile()).toBe(true);
        else expect(compose.volumes).toHaveProperty([source]);
      }
      for (const name of Array.isArray(depends_on) ? depends_on : Object.keys(depends_on))
        expect(services).toHaveProperty([name]);
    }
    const files = /for name in (.*?); do/.exec(read(COMPOSE))?.[1]?.split(' ');
    expect(
      Object.values(compose.secrets)
        .map(({ file }) => file)
        .sort(),
    ).toEqual(files?.sort().map((name) => `./secrets/${name}`));
    expect(named('db-1').volumes).toContain('./compose/primary.sh:/docker-entrypoint-initdb.d/primary.sh:ro');
    // What is not executable is read into the entrypoint of the image, whose shell it would set.
    expect(statSync('deploy/compose/primary.sh').mode & 0o111).toBe(0o111);
  });

  it('starts the instances with settings that there are, and with the passwords of the files', () => {
    for (const { entrypoint = [], environment = {}, secrets = [], stop_grace_period, build } of instances) {
      expect(build).toBe('..');
      for (const name of secrets) written(name, `c0ffee-of-${name}\n`);
      const [shell, flags, script] = entrypoint.map((word) => word.replaceAll('$$', '$'));
      expect(script).toMatch(/\bexec node dist\/src\/main\.js serve\n$/);
      const seen = execFileSync(
        shell as string,
        [
          flags as string,
          (script as string).replaceAll('/run/secrets', folder).replace(/exec node.*\n$/, 'exec env\n'),
        ],
        { encoding: 'utf8', env: { PATH: process.env.PATH } },
      );
      const all = Object.fromEntries(seen.split('\n').map((line) => line.split(/=(.*)/s).slice(0, 2))) as Environment;
      const { DATABASE_URL = '', RATE_LIMIT_URL = '' } = all;
      expect(environment.API_KEYS_FILE).toBe('/run/secrets/api-keys');
      expect(secrets).toContain('api-keys');
      written('keys', KEY);
      const config = configOf({
        ...environment,
        API_KEYS_FILE: join(folder, 'keys'),
        DATABASE_URL,
        RATE_LIMIT_URL,
      });
      expect(config.database).toMatchObject({
        hosts: ['pgbouncer-1', 'pgbouncer-2'].map((host) => ({ host, port: 6432 })),
        pooler: 'transaction',
        user: named('db-1').environment?.POSTGRES_USER,
        password: 'c0ffee-of-database-password',
        database: named('db-1').environment?.POSTGRES_DB,
      });
      expect(config.counting.redis).toMatchObject({ host: 'redis', port: 6379, password: 'c0ffee-of-redis-password' });
      expect(config.stopDelay + config.http.stopLinger).toBeLessThan(config.stopTimeout);
      expect(config.stopTimeout).toBeLessThan(Number(/^(\d+)s$/.exec(stop_grace_period as string)?.[1]) * 1_000);
      // HAProxy must have noticed by then.
      const [, inter, fall] = /check inter (\d+)s fall (\d+)/.exec(read(HAPROXY)) as unknown as string[];
      expect(Number(inter) * Number(fall) * 1_000).toBeLessThan(config.stopDelay);
    }
  });

  it('opens HAProxy alone, in front of the port of each instance', () => {
    const port = /^ {2}bind :(\d+)$/m.exec(read(HAPROXY))?.[1];
    const open = Object.entries(services).filter(([, { ports }]) => ports);
    expect(open).toMatchObject([['haproxy', { ports: [`${port}:${port}`] }]]);
    const image = /^ENV .*PORT=(\d+)/m.exec(read('Dockerfile'))?.[1];
    const servers = [...read(HAPROXY).matchAll(/^ {2}server (\S+) (\S+)$/gm)].map(([, name, address]) => [
      name,
      address,
    ]);
    expect(servers).toEqual(['petstore-1', 'petstore-2'].map((name) => [name, `${name}:${image}`]));
    const waits = Number(/timeout server (\d+)s/.exec(read(HAPROXY))?.[1]) * 1_000;
    expect(waits).toBeGreaterThan(readConfig({}).http.storeTimeout);
  });

  it('has a PgBouncer for each PostgreSQL, by the script that test/cluster/compose.check.ts runs', () => {
    for (const n of [1, 2]) {
      const { build, environment, volumes, secrets } = named(`pgbouncer-${n}`);
      expect(environment).toEqual({ SERVER: `db-${n}` });
      expect(volumes).toEqual(['./compose/pgbouncer.sh:/pgbouncer.sh:ro']);
      expect((build as { dockerfile_inline: string }).dockerfile_inline).toContain('"/pgbouncer.sh"');
      expect(read('deploy/compose/pgbouncer.sh')).toContain(`/run/secrets/${secrets?.[0]}`);
    }
    const { POSTGRES_USER: user, POSTGRES_DB: name } = named('db-1').environment!;
    expect(read('deploy/compose/pgbouncer.sh')).toContain(`echo "\\"${user}\\" `);
    expect(read('deploy/compose/pgbouncer.sh')).toContain(`\n${name} = host=$SERVER port=\${SERVER_PORT:-5432}\n`);
    expect(read('deploy/compose/pgbouncer.sh')).toContain('listen_port = ${PORT:-6432}');
  });

  it('names one standby everywhere', () => {
    expect(read('deploy/compose/primary.sh')).toContain("synchronous_standby_names = 'FIRST 1 (db_2)'");
    expect(read('deploy/compose/primary.sh')).toContain("pg_create_physical_replication_slot('db_2'");
    expect(read('deploy/compose/standby.sh')).toContain('application_name=db_2');
    expect(read('deploy/compose/standby.sh')).toContain('--slot=db_2');
    expect(named('db-2').environment?.PRIMARY).toBe('db-1');
  });

  // As it is, but for addresses: the names of containers are known to their engine alone.
  const kind = {
    ...haproxy(),
    configuration: (_folder: string, port: number, ports: readonly number[]) =>
      read(HAPROXY)
        .replace(':8080', `127.0.0.1:${port}`)
        .replace(/petstore-([12]):3000/g, (_all, n: string) => `127.0.0.1:${ports[Number(n) - 1]}`),
  };

  describeBehind('behind $name as it says', [kind], () => {
    it('requests go to the instance that is ready', async () => {
      const pair = [await Service.start({ API_KEYS: KEY }), await Service.start({ API_KEYS: KEY })] as const;
      const proxy = await ReverseProxy.start(
        kind,
        pair.map(({ port }) => port),
      );
      const list = () =>
        fetch(`http://127.0.0.1:${proxy.port}/v1/pets`, { headers: { Authorization: `Bearer ${KEY}` } });
      expect((await list()).status).toBe(200);
      await pair[0].stop();
      for (let i = 0; i < 10; i++) expect((await list()).status).toBe(200);
      await proxy.remove();
      await pair[1].stop();
    });
  });
});
