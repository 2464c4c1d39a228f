import { ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { createInterface } from 'node:readline';
import mysql from 'mysql2/promise';
import pg from 'pg';

/** Database servers do not run as root: there, they run as nobody. */
export const NOBODY = 65_534;
const asNobody = process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};

/** A throw-away database server in a folder of its own, on a free port of the loopback. */
export interface TestServer {
  readonly port: number;
  /** Starts it; resolves once it accepts connections. */
  start(): Promise<void>;
  /** Sends it, and the processes that it is made of, a signal that does not end them. */
  signal(signal: NodeJS.Signals): void;
  /** Ends it with this signal; resolves once it is gone. */
  end(signal: NodeJS.Signals): Promise<void>;
  /** Ends it if it runs, and removes its folder. */
  remove(): Promise<void>;
}

/** A new PostgreSQL, user postgres, trusted; undefined if the machine has no binaries of it. */
export async function newPostgres(...settings: string[]): Promise<TestServer | undefined> {
  const [initdb, postgres] = [postgresBinary('initdb'), postgresBinary('postgres')];
  if (!initdb || !postgres) return undefined;
  return server(
    (data) => [initdb, '-D', data, '-U', 'postgres', '-A', 'trust', '--no-sync', '--encoding=UTF8', '--locale=C'],
    (data, port) => postgresCommand(postgres, data, port, settings),
    'ready to accept connections',
  );
}

/** A new standby of a PostgreSQL that runs, in step with it from its own slot on. */
export async function newStandby(primary: TestServer, ...settings: string[]): Promise<TestServer> {
  const [backup, postgres] = [postgresBinary('pg_basebackup') ?? '', postgresBinary('postgres') ?? ''];
  const slot = `standby_${primary.port}_${Date.now()}`;
  return server(
    (data) => [
      ...[backup, '-D', data, '-h', '127.0.0.1', '-p', String(primary.port), '-U', 'postgres'],
      ...['-R', '-X', 'stream', '-C', '-S', slot, '-c', 'fast', '--no-sync'],
    ],
    (data, port) => postgresCommand(postgres, data, port, settings),
    'ready to accept read-only connections',
  );
}

/** The path of a program of PostgreSQL, of the newest version that is installed; undefined if the machine has none. */
export function postgresBinary(name: string): string | undefined {
  const installed = existsSync('/usr/lib/postgresql')
    ? readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a))
    : [];
  return binary(
    name,
    installed.map((version) => `/usr/lib/postgresql/${version}/bin`),
  );
}

function postgresCommand(postgres: string, data: string, port: number, settings: readonly string[]): string[] {
  return [
    ...[postgres, '-D', data, '-p', String(port), '-h', '127.0.0.1', '-k', ''],
    ...settings.flatMap((setting) => ['-c', setting]),
  ];
}

/** A new PgBouncer in front of a PostgreSQL, with its default settings but for those given; undefined if the machine has none. */
export async function newPgBouncer(behind: number, ...settings: string[]): Promise<TestServer | undefined> {
  const pgbouncer = binary('pgbouncer', ['/usr/sbin']);
  if (!pgbouncer) return undefined;
  return server(
    (data) => ['mkdir', data],
    (data, port) => {
      writeFileSync(join(data, 'users'), '"postgres" ""\n');
      const lines = [
        ...['[databases]', `* = host=127.0.0.1 port=${behind}`, '[pgbouncer]', 'listen_addr = 127.0.0.1'],
        ...[`listen_port = ${port}`, 'unix_socket_dir =', 'auth_type = trust', `auth_file = ${join(data, 'users')}`],
      ];
      writeFileSync(join(data, 'pgbouncer.ini'), [...lines, ...settings, ''].join('\n'));
      return [pgbouncer, join(data, 'pgbouncer.ini')];
    },
    'process up',
  );
}

/** A self-signed certificate of localhost and its key, in files of a folder that the servers can write to. */
export function newCertificate(): { folder: string; cert: string; key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-tls-'));
  const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost'];
  const request = ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...subject];
  execFileSync('openssl', [...request, '-keyout', key, '-out', cert], { stdio: 'ignore' });
  chmodSync(key, 0o600);
  if (asNobody.uid !== undefined) for (const path of [folder, cert, key]) chownSync(path, NOBODY, NOBODY);
  return { folder, cert, key };
}

/** A new MariaDB, user root, no password; undefined if the machine has no binaries of it. */
export async function newMariadb(...settings: string[]): Promise<TestServer | undefined> {
  const folders = ['/usr/sbin', '/usr/local/sbin'];
  const [install, mariadbd] = [binary('mariadb-install-db', folders), binary('mariadbd', folders)];
  if (!install || !mariadbd) return undefined;
  return server(
    (data) => [
      ...[install, '--no-defaults', `--datadir=${data}`, '--auth-root-authentication-method=normal'],
      '--skip-test-db',
    ],
    (data, port) => [
      ...[mariadbd, '--no-defaults', `--datadir=${data}`, `--port=${port}`, '--bind-address=127.0.0.1'],
      ...[`--socket=${data}/socket`, `--pid-file=${data}/pid`, ...settings],
    ],
    'ready for connections',
  );
}

/** A new Redis that keeps nothing on disk; undefined if the machine has no binary of it. */
export async function newRedis(...settings: string[]): Promise<TestServer | undefined> {
  const program = binary('redis-server', ['/usr/local/bin']);
  if (program === undefined) return undefined;
  return server(
    undefined,
    (_data, port) => [program, '--port', String(port), '--bind', '127.0.0.1', '--save', '', ...settings],
    'Ready to accept connections',
  );
}

/** A new server in a folder of its own, by the command that makes its data, the one that runs it, and what it says once it is ready. */
export async function server(
  init: ((data: string) => string[]) | undefined,
  run: (data: string, port: number) => string[],
  ready: string,
): Promise<TestServer> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-server-'));
  if (asNobody.uid !== undefined) chownSync(folder, NOBODY, NOBODY);
  const data = join(folder, 'data');
  const port = await freePort();
  let running: ChildProcess | undefined;

  const launch = ([command, ...args]: string[]): ChildProcess =>
    spawn(command as string, args, { cwd: folder, stdio: ['ignore', 'pipe', 'pipe'], ...asNobody });
  const ended = (child: ChildProcess): Promise<void> =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) resolve();
      else child.once('close', () => resolve());
    });
  const runningPid = () => (running?.exitCode === null && running.signalCode === null ? running.pid : undefined);
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    const pid = runningPid();
    if (pid !== undefined && signal === 'SIGKILL') killAll(pid);
    else running?.kill(signal);
    if (running) await ended(running);
    running = undefined;
  };

  if (init) {
    const initialising = launch(init(data));
    initialising.stdout?.resume();
    initialising.stderr?.resume();
    await ended(initialising);
    if (initialising.exitCode !== 0) throw new Error(`A database server could not be set up: ${init(data).join(' ')}`);
  }

  return {
    port,
    start: () =>
      new Promise((resolve, reject) => {
        const child = (running = launch(run(data, port)));
        child.once('close', () => reject(new Error(`A database server ended: ${run(data, port).join(' ')}`)));
        for (const output of [child.stdout, child.stderr]) {
          createInterface({ input: output as NodeJS.ReadableStream }).on('line', (line) => {
            if (line.includes(ready)) resolve();
          });
        }
      }),
    end,
    signal: (signal) => {
      const pid = runningPid();
      for (const each of pid === undefined ? [] : processesOf(pid)) process.kill(each, signal);
    },
    remove: async () => {
      await end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A process and its descendants: PostgreSQL goes on working if only the first of its processes stands still. */
function processesOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return [pid, ...children.map(Number).flatMap(processesOf)];
}

/**
 * Kills a server as a power failure does. If only the first process of PostgreSQL is killed, the others stop waiting
 * for the synchronous standby, and can show a client what the standby does not have before they end. So it is stopped,
 * and killed last: meanwhile it neither starts processes nor reacts to those that end.
 */
export function killAll(pid: number): void {
  process.kill(pid, 'SIGSTOP');
  for (const each of processesOf(pid).reverse()) process.kill(each, 'SIGKILL');
}

/** The path of a program that is in one of these folders or on the PATH; undefined if it is in none. */
export function binary(name: string, folders: readonly string[]): string | undefined {
  return [...folders, ...(process.env.PATH ?? '').split(delimiter)]
    .map((folder) => join(folder, name))
    .find((path) => existsSync(path));
}

/**
 * A TCP port of the loopback that nobody listens on. It lies below those that systems give to outgoing connections (from
 * 32,768 on Linux), which could take it before the test listens on it, or while what listens on it is restarted.
 */
export async function freePort(): Promise<number> {
  const port = randomInt(20_000, 32_768);
  const probe = createServer();
  const free = await new Promise<boolean>((resolve) => {
    probe.once('error', () => resolve(false)).listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
  return free ? port : freePort();
}

/** A kind of database server that the tests want. */
interface Wanted {
  readonly name: string;
  /** The variable that tells the tests where it is. */
  readonly variable: string;
  /** How to get it. */
  readonly install: string;
  /** Where it is wont to run. */
  readonly usual: string;
  readonly answers: (url: string) => Promise<void>;
  readonly launch: () => Promise<TestServer | undefined>;
  readonly url: (port: number) => string;
}

const wanted: readonly Wanted[] = [
  {
    name: 'PostgreSQL',
    variable: 'PETSTORE_TEST_POSTGRES',
    install: 'apt-get install postgresql',
    usual: 'postgres://postgres@127.0.0.1:5432',
    answers: async (url) => {
      const client = new pg.Client({ connectionString: `${url}/postgres`, connectionTimeoutMillis: 2_000 });
      await client.connect();
      await client.end();
    },
    // It lasts no longer than the run.
    launch: () => newPostgres('fsync=off'),
    url: (port) => `postgres://postgres@127.0.0.1:${port}`,
  },
  {
    name: 'MariaDB',
    variable: 'PETSTORE_TEST_MARIADB',
    install: 'apt-get install mariadb-server',
    usual: 'mariadb://root@127.0.0.1:3306',
    answers: async (url) => {
      const { hostname, port, username } = new URL(url);
      const connection = await mysql.createConnection({
        host: hostname,
        port: Number(port),
        user: username,
        connectTimeout: 2_000,
      });
      await connection.end();
    },
    launch: () => newMariadb(),
    url: (port) => `mariadb://root@127.0.0.1:${port}`,
  },
];

/** A program that a tier of the tests runs, and how Debian installs it. */
interface Requirement {
  readonly program: string;
  readonly install: string;
  /** Folders to search besides those of the PATH. */
  readonly folders?: readonly string[];
}

const SBIN = ['/usr/sbin', '/usr/local/sbin'];

/** What the integration tests run. */
const INTEGRATION: readonly Requirement[] = [
  { program: 'redis-server', install: 'redis-server', folders: ['/usr/local/bin'] },
  { program: process.env.PETSTORE_BROWSER ?? 'chromium', install: 'chromium' },
  { program: 'curl', install: 'curl' },
  { program: 'fail2ban-regex', install: 'fail2ban' },
  { program: 'python3', install: 'python3-minimal' },
  { program: 'openssl', install: 'openssl' },
  { program: 'pgbouncer', install: 'pgbouncer', folders: SBIN },
  { program: 'prometheus', install: 'prometheus' },
];

/** What the system tests run besides. */
const SYSTEM: readonly Requirement[] = [
  { program: 'nginx', install: 'nginx-light', folders: SBIN },
  { program: 'haproxy', install: 'haproxy', folders: SBIN },
  { program: 'patroni', install: 'patroni' },
  { program: 'etcd', install: 'etcd-server' },
];

/** Throws an error that says what to install, unless all of these programs are installed. */
function requirePrograms(requirements: readonly Requirement[]): void {
  const missing = requirements.filter(({ program, folders = [] }) => binary(program, folders) === undefined);
  if (missing.length === 0) return;
  const names = missing.map(({ program }) => program).join(', ');
  const packages = missing.map(({ install }) => install).join(' ');
  throw new Error(`These tests need ${names}, not found on this machine. On Debian: apt-get install ${packages}`);
}

/** The servers that this run has started. */
const startedServers = (): TestServer[] => ((globalThis as { petstoreServers?: TestServer[] }).petstoreServers ??= []);

/**
 * Jest's globalSetup of the integration and system tiers; Jest resolves no relative import of it. Finds a running server of each
 * kind, or starts one, and sets the variable that tells the tests where it is, unless it is set already. Rejects with what to
 * install if something is missing.
 */
export default async function setup(_config: unknown, { globals }: { globals: { tier?: string } }): Promise<void> {
  requirePrograms(globals.tier === 'system' ? [...INTEGRATION, ...SYSTEM] : INTEGRATION);
  for (const { name, variable, install, usual, answers, launch, url } of wanted) {
    if (process.env[variable]) continue;
    try {
      await answers(usual);
      process.env[variable] = usual;
      continue;
    } catch {
      // None runs there; start one for this run.
    }
    const server = await launch();
    if (!server) throw new Error(`These tests need ${name}, not found on this machine. On Debian: ${install}`);
    startedServers().push(server);
    await server.start();
    process.env[variable] = url(server.port);
  }
}
