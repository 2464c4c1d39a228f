import { ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary, freePort } from './servers.js';

const SBIN = ['/usr/sbin', '/usr/local/sbin'];

/** A reverse proxy that these tests know. */
export interface ReverseProxyKind {
  readonly name: string;
  readonly program: string;
  /** Its arguments, if its files are in this folder and it listens on this port. */
  readonly args: (folder: string, port: number) => string[];
  /** The configuration by which it listens on this port in front of instances on these. */
  readonly configuration: (folder: string, port: number, instances: readonly number[]) => string;
}

/** nginx, with connections to the service that are kept; more settings of each `server`, of the `upstream` and of the `location`. */
export function nginx(
  name = 'nginx',
  { server = '', upstream = '', location = '' }: { server?: string; upstream?: string; location?: string } = {},
): ReverseProxyKind {
  return {
    name,
    program: 'nginx',
    args: (folder) => ['-p', folder, '-c', join(folder, 'configuration'), '-e', 'stderr'],
    configuration: (folder, port, instances) => `
daemon off;
master_process off;
pid ${folder}/pid;
error_log stderr error;
events { worker_connections 1024; }
http {
  access_log off;
  ${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((use) => `${use}_temp_path ${folder}/${use};`).join(' ')}
  map $http_upgrade $connection_upgrade { default upgrade; "" ""; }
  upstream petstore {
    ${instances.map((instance) => `server 127.0.0.1:${instance} ${server};`).join(' ')}
    keepalive 64;
    ${upstream}
  }
  server {
    listen 127.0.0.1:${port};
    location / {
      proxy_pass http://petstore;
      proxy_http_version 1.1;
      proxy_set_header Connection $connection_upgrade;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      ${location}
    }
  }
}
`,
  };
}

/** HAProxy, with connections to the service that are kept and shared by all clients. */
export function haproxy(): ReverseProxyKind {
  return {
    name: 'HAProxy',
    program: 'haproxy',
    args: (folder) => ['-db', '-f', join(folder, 'configuration')],
    configuration: (_folder, port, instances) => `
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  http-reuse always
  option forwardfor
frontend clients
  bind 127.0.0.1:${port}
  default_backend petstore
backend petstore
  ${instances.map((instance) => `server on-${instance} 127.0.0.1:${instance}`).join('\n  ')}
`,
  };
}

// What the examples need besides, to run in a folder of their own. By default Apache closes connections of clients after 5
// seconds, or while all threads of a process are busy, perhaps just as a client sends the next request.
const APACHE = `
KeepAliveTimeout 60
ThreadsPerChild 64
ServerRoot FOLDER
ServerName localhost
PidFile FOLDER/pid
DefaultRuntimeDir FOLDER
ErrorLog FOLDER/log
User nobody
Group nogroup
${[
  'mpm_event',
  'authz_core',
  'proxy',
  'proxy_http',
  'proxy_balancer',
  'slotmem_shm',
  'lbmethod_byrequests',
  'proxy_hcheck',
]
  .map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`)
  .join('\n')}
`;
const SQUID = `
pid_filename none
access_log none
cache_log /dev/null
coredump_dir FOLDER
visible_hostname petstore
shutdown_lifetime 0 seconds
`;

/** The examples in deploy/. */
export const EXAMPLES: readonly ReverseProxyKind[] = [
  example('haproxy.cfg', 'haproxy', (file) => ['-db', '-f', file]),
  example('Caddyfile', 'caddy', (file) => ['run', '--adapter', 'caddyfile', '--config', file], '{\n  admin off\n}\n'),
  example('apache.conf', 'apache2', (file) => ['-DFOREGROUND', '-f', file], APACHE),
  example('squid.conf', 'squid', (file) => ['-N', '-f', file], SQUID),
  example('varnish.vcl', 'varnishd', (file, port) => ['-F', '-n', `${file}.d`, '-a', `127.0.0.1:${port}`, '-f', file]),
];

/** An example in front of the instances of a test, behind what it needs besides. */
function example(
  name: string,
  program: string,
  args: (file: string, port: number) => string[],
  needs = '',
): ReverseProxyKind {
  return {
    name: `deploy/${name}`,
    program,
    args: (folder, port) => args(join(folder, 'configuration'), port),
    configuration: (folder, port, instances) =>
      needs.replaceAll('FOLDER', folder) +
      readFileSync(join('deploy', name), 'utf8')
        .replace(/\b8080\b/g, String(port))
        .replace(/192\.0\.2\.(\d)(\D+)3000/g, (_, number, between) => `127.0.0.1${between}${instances[number - 1]}`),
  };
}

/** A reverse proxy that runs, in a folder of its own and on a free port of the loopback. */
export class ReverseProxy {
  /** What it has said of its own accord. */
  log = '';

  private constructor(
    readonly port: number,
    private readonly folder: string,
    private readonly process: ChildProcess,
  ) {
    for (const output of [process.stdout, process.stderr]) {
      output?.setEncoding('utf8').on('data', (text: string) => (this.log += text));
    }
  }

  /** Starts it in front of instances on these ports; resolves once it takes connections. */
  static async start(kind: ReverseProxyKind, instances: readonly number[]): Promise<ReverseProxy> {
    const folder = mkdtempSync(join(tmpdir(), 'petstore-proxy-'));
    // Some proxies change to a user of their own.
    chmodSync(folder, 0o755);
    const port = await freePort();
    writeFileSync(join(folder, 'configuration'), kind.configuration(folder, port, instances));
    const process = spawn(binary(kind.program, SBIN) as string, kind.args(folder, port), {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    const proxy = new ReverseProxy(port, folder, process);
    while (!(await takesConnections(port))) {
      if (process.exitCode !== null) throw new Error(`${kind.name} ended: ${proxy.log}`);
    }
    return proxy;
  }

  /** Ends it, and removes its folder. */
  async remove(): Promise<void> {
    if (this.process.exitCode === null) {
      this.process.kill('SIGTERM');
      await once(this.process, 'exit');
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

async function takesConnections(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1');
  const connected = await once(socket, 'connect').then(
    () => true,
    () => new Promise<false>((resolve) => setTimeout(resolve, 20, false)),
  );
  socket.destroy();
  return connected;
}
