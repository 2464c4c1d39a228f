import { ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { binary, freePort } from './servers.js';

const SBIN = ['/usr/sbin', '/usr/local/sbin'];

/** A reverse proxy that these tests know. */
export interface ReverseProxyKind {
  readonly name: string;
  readonly program: string;
  /** Its arguments, if its files are in this folder. */
  readonly args: (folder: string) => string[];
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
frontend clients
  bind 127.0.0.1:${port}
  default_backend petstore
backend petstore
  ${instances.map((instance) => `server on-${instance} 127.0.0.1:${instance}`).join('\n  ')}
`,
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
    const port = await freePort();
    writeFileSync(join(folder, 'configuration'), kind.configuration(folder, port, instances));
    const process = spawn(binary(kind.program, SBIN) as string, kind.args(folder), {
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
