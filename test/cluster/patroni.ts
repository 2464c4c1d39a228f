import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { binary, freePort, postgresBinary, server, TestServer } from '../support/servers.js';
import { ask, until } from './instances.js';

const PASSWORD = 'password-of-the-cluster-test';

/** The user and the password of the members, as they stand in a URL. */
const USER = `postgres:${PASSWORD}`;

/**
 * Synchronous: a create is acknowledged once the standby has it on its disk, and no other standby is promoted.
 * Without a socket folder, because Patroni connects by TCP and pg_rewind fails on a socket in the data folder.
 */
const MEMBER = `
scope: petstore
bootstrap:
  dcs:
    ttl: 20
    loop_wait: 1
    retry_timeout: 3
    synchronous_mode: true
    primary_start_timeout: 30
    postgresql:
      use_pg_rewind: true
      use_slots: true
  initdb:
    - encoding: UTF8
    - locale: C
    - data-checksums
postgresql:
  pg_hba:
    - host replication replicator all scram-sha-256
    - host all all all scram-sha-256
  parameters:
    unix_socket_directories: ''
watchdog:
  mode: off
`;

/** Leads to the member whose Patroni says that it is the primary, and cuts off at once who no longer is. */
const haproxyConfiguration = (port: number, members: readonly Member[]): string => `
defaults
  mode tcp
  timeout connect 2s
  timeout client 30m
  timeout server 30m
  timeout check 2s
  retries 2
  option redispatch 1
listen primary
  bind 127.0.0.1:${port}
  option httpchk GET /primary
  http-check expect status 200
  default-server check inter 500ms fastinter 100ms downinter 250ms fall 2 rise 1 on-marked-down shutdown-sessions
  ${members.map(({ name, port: own, rest }) => `server ${name} 127.0.0.1:${own} port ${rest}`).join('\n  ')}
`;

/** A PostgreSQL under Patroni. `start` and `end` are of Patroni; SIGTERM ends both gracefully. */
export interface Member extends TestServer {
  readonly name: string;
  /** The port of Patroni's REST API. */
  readonly rest: number;
  /** Ends PostgreSQL alone by SIGKILL. */
  killPostgres(): void;
  /** Ends both by SIGKILL. */
  kill(): Promise<void>;
}

async function newEtcd(): Promise<TestServer> {
  const peers = `http://127.0.0.1:${await freePort()}`;
  return server(
    undefined,
    (data, port) => [
      ...[binary('etcd', [])!, '--data-dir', data, '--listen-peer-urls', peers],
      ...['--initial-advertise-peer-urls', peers, '--initial-cluster', `default=${peers}`],
      ...['--listen-client-urls', `http://127.0.0.1:${port}`, '--advertise-client-urls', `http://127.0.0.1:${port}`],
    ],
    'ready to serve client requests',
  );
}

async function newMember(name: string, etcd: TestServer): Promise<Member> {
  const rest = await freePort();
  let folder = '';
  const one = await server(
    undefined,
    (data, port) => {
      folder = data;
      writeFileSync(`${data}.yml`, MEMBER);
      const variables = {
        PATRONI_NAME: name,
        PATRONI_ETCD3_HOSTS: `127.0.0.1:${etcd.port}`,
        PATRONI_RESTAPI_LISTEN: `127.0.0.1:${rest}`,
        PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${rest}`,
        PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
        PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${port}`,
        PATRONI_POSTGRESQL_DATA_DIR: data,
        PATRONI_POSTGRESQL_BIN_DIR: dirname(postgresBinary('postgres')!),
        PATRONI_POSTGRESQL_PGPASS: `${data}.pgpass`,
        PATRONI_SUPERUSER_USERNAME: 'postgres',
        PATRONI_SUPERUSER_PASSWORD: PASSWORD,
        PATRONI_REPLICATION_USERNAME: 'replicator',
        PATRONI_REPLICATION_PASSWORD: PASSWORD,
      };
      const given = Object.entries(variables).map((variable) => variable.join('='));
      return ['/usr/bin/env', ...given, binary('patroni', [])!, `${data}.yml`];
    },
    // Its line about each look at the cluster, once its PostgreSQL runs.
    'no action. I am',
  );
  const killPostgres = (): void => {
    const file = `${folder}/postmaster.pid`;
    if (existsSync(file)) process.kill(Number(readFileSync(file, 'utf8').split('\n')[0]), 'SIGKILL');
  };
  const kill = async (): Promise<void> => {
    // PostgreSQL has inherited the outputs of Patroni, which counts as ended once both have.
    const ended = one.end('SIGKILL');
    killPostgres();
    await ended;
  };
  const remove = async (): Promise<void> => {
    await kill();
    await one.remove();
  };
  return { ...one, name, rest, killPostgres, kill, remove };
}

/** Two PostgreSQLs under Patroni with etcd, and HAProxy in front of them. */
export class PatroniCluster {
  private databases = 0;

  private constructor(
    private readonly etcd: TestServer,
    readonly members: readonly [Member, Member],
    private readonly haproxy: TestServer,
  ) {}

  static async start(): Promise<PatroniCluster> {
    const etcd = await newEtcd();
    const members = [await newMember('db-1', etcd), await newMember('db-2', etcd)] as const;
    const haproxy = await server(
      undefined,
      (data, port) => {
        writeFileSync(`${data}.cfg`, haproxyConfiguration(port, members));
        return [binary('haproxy', ['/usr/sbin', '/usr/local/sbin'])!, '-W', '-db', '-f', `${data}.cfg`];
      },
      'Loading success',
    );
    await etcd.start();
    await Promise.all([haproxy, ...members].map((part) => part.start()));
    return new PatroniCluster(etcd, members, haproxy);
  }

  /** Makes a database on the primary, and resolves to its URL by way of HAProxy. */
  async newDatabase(primary: Member): Promise<string> {
    const name = `pets_${++this.databases}`;
    await this.ask(primary, `CREATE DATABASE ${name}`);
    return `postgres://${USER}@127.0.0.1:${this.haproxy.port}/${name}`;
  }

  /** Runs a statement on a member's PostgreSQL. */
  ask(member: Member, sql: string): Promise<unknown[][]> {
    return ask(member, sql, USER);
  }

  async remove(): Promise<void> {
    // By a signal that it passes on to its worker.
    await this.haproxy.end('SIGTERM');
    for (const part of [this.haproxy, ...this.members, this.etcd]) await part.remove();
  }

  /** Resolves once a member's PostgreSQL can be written, to this member. */
  async primary(isIt: (member: Member) => boolean = () => true): Promise<Member> {
    let found: Member | undefined;
    await until(async () => {
      for (const member of this.members) {
        const [row] = await this.ask(member, 'SELECT pg_is_in_recovery()').catch(() => []);
        if (row?.[0] === false && isIt(member)) found = member;
      }
      return found !== undefined;
    }, 60_000);
    return found as Member;
  }

  /** Resolves to the primary and its synchronous standby, once there are both. */
  async settled(): Promise<{ primary: Member; standby: Member }> {
    const primary = await this.primary();
    const standby = this.members.find((member) => member !== primary) as Member;
    const synchronous = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
    const isSynchronous = () => fetch(`http://127.0.0.1:${standby.rest}/synchronous`).catch(() => undefined);
    await until(
      async () => (await this.ask(primary, synchronous)).length > 0 && (await isSynchronous())?.status === 200,
      60_000,
    );
    return { primary, standby };
  }

  /** Has the two change places; resolves once Patroni says that they have. */
  async switchOver({ primary, standby }: { primary: Member; standby: Member }): Promise<void> {
    const body = JSON.stringify({ leader: primary.name, candidate: standby.name });
    const response = await fetch(`http://127.0.0.1:${primary.rest}/switchover`, { method: 'POST', body });
    if (response.status !== 200) throw new Error(`No switchover: ${response.status} ${await response.text()}`);
  }
}
