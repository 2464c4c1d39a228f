import { readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { binary, freePort, postgresBinary, server, TestServer } from '../support/servers.js';
import { pause } from './ledger.js';
import { say } from './say.js';

const PASSWORD = 'password-of-the-cluster-test';

/** A PostgreSQL under Patroni. `start` and `end` are of Patroni; SIGTERM ends both, in order. */
export interface Member extends TestServer {
  readonly name: string;
  /** The port of Patroni's REST API. */
  readonly rest: number;
  /** Ends PostgreSQL alone by SIGKILL. */
  killPostgres(): void;
  /** Ends both by SIGKILL. */
  kill(): Promise<void>;
}

/** A new etcd of one node; undefined if the machine has none. */
async function newEtcd(): Promise<TestServer | undefined> {
  const etcd = binary('etcd', ['/usr/bin']);
  if (!etcd) return undefined;
  const peers = `http://127.0.0.1:${await freePort()}`;
  return server(
    undefined,
    (data, port) => [
      ...[etcd, '--data-dir', data, '--listen-peer-urls', peers, '--initial-advertise-peer-urls', peers],
      ...['--initial-cluster', `default=${peers}`, '--listen-client-urls', `http://127.0.0.1:${port}`],
      ...['--advertise-client-urls', `http://127.0.0.1:${port}`],
    ],
    'ready to serve client requests',
  );
}

/** A new PostgreSQL under Patroni, by the file of deploy/; undefined if the machine has none. */
async function newMember(name: string, etcd: TestServer): Promise<Member | undefined> {
  const [patroni, postgres] = [binary('patroni', ['/usr/bin']), postgresBinary('postgres')];
  if (!patroni || !postgres) return undefined;
  const rest = await freePort();
  let folder = '';
  const one = await server(
    undefined,
    (data, port) => {
      folder = data;
      writeFileSync(`${data}.yml`, readFileSync('deploy/patroni/patroni.yml'));
      const variables = {
        PATRONI_NAME: name,
        PATRONI_ETCD3_HOSTS: `127.0.0.1:${etcd.port}`,
        PATRONI_RESTAPI_LISTEN: `127.0.0.1:${rest}`,
        PATRONI_RESTAPI_CONNECT_ADDRESS: `127.0.0.1:${rest}`,
        PATRONI_POSTGRESQL_LISTEN: `127.0.0.1:${port}`,
        PATRONI_POSTGRESQL_CONNECT_ADDRESS: `127.0.0.1:${port}`,
        PATRONI_POSTGRESQL_DATA_DIR: data,
        PATRONI_POSTGRESQL_BIN_DIR: dirname(postgres),
        PATRONI_POSTGRESQL_PGPASS: `${data}.pgpass`,
        PATRONI_SUPERUSER_USERNAME: 'postgres',
        PATRONI_SUPERUSER_PASSWORD: PASSWORD,
        PATRONI_REPLICATION_USERNAME: 'replicator',
        PATRONI_REPLICATION_PASSWORD: PASSWORD,
      };
      const given = Object.entries(variables).map((variable) => variable.join('='));
      return ['/usr/bin/env', ...given, patroni, `${data}.yml`];
    },
    // What it says of each look at the cluster, once its PostgreSQL runs.
    'no action. I am',
  );
  const killPostgres = (): void => {
    try {
      process.kill(Number(readFileSync(`${folder}/postmaster.pid`, 'utf8').split('\n')[0]), 'SIGKILL');
    } catch {
      // It is not there.
    }
  };
  const kill = async (): Promise<void> => {
    // PostgreSQL has the outputs of Patroni, which is not told as ended before both are.
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

/** A new HAProxy in front of members, by the file of deploy/ with their addresses; undefined if the machine has none. */
async function newHaproxy(members: readonly Member[]): Promise<TestServer | undefined> {
  const haproxy = binary('haproxy', ['/usr/sbin', '/usr/local/sbin']);
  if (!haproxy) return undefined;
  return server(
    undefined,
    (data, port) => {
      let text = readFileSync('deploy/patroni/haproxy.cfg', 'utf8')
        .replace('bind :5000', `bind 127.0.0.1:${port}`)
        .replace('check port 8008', 'check');
      for (const { name, port: own, rest } of members)
        text = text.replace(`${name}:5432`, `127.0.0.1:${own} port ${rest}`);
      writeFileSync(`${data}.cfg`, text);
      return [haproxy, '-W', '-db', '-f', `${data}.cfg`];
    },
    'Loading success',
  );
}

/** Two PostgreSQLs under Patroni with etcd, and HAProxy in front of them. */
export class PatroniCluster {
  private constructor(
    private readonly etcd: TestServer,
    readonly members: readonly [Member, Member],
    private readonly haproxy: TestServer,
  ) {}

  /** A new one, which runs; rejects if the machine lacks a part of it. */
  static async start(): Promise<PatroniCluster> {
    const etcd = await newEtcd();
    const members = etcd ? [await newMember('db-1', etcd), await newMember('db-2', etcd)] : [];
    const haproxy = await newHaproxy(members.filter((member) => member !== undefined));
    const [first, second] = members;
    if (!etcd || !first || !second || !haproxy)
      throw new Error('To run it: apt-get install patroni etcd-server postgresql haproxy');
    const cluster = new PatroniCluster(etcd, [first, second], haproxy);
    await cluster.startAll();
    return cluster;
  }

  /** The URL of a database, by way of HAProxy or by all members. */
  url(way: 'HAProxy' | 'hosts', database: string): string {
    const hosts = way === 'HAProxy' ? [this.haproxy] : this.members;
    return `postgres://postgres:${PASSWORD}@${hosts.map(({ port }) => `127.0.0.1:${port}`).join()}/${database}`;
  }

  async startAll(): Promise<void> {
    await this.etcd.start();
    await Promise.all([this.haproxy, ...this.members].map((part) => part.start()));
  }

  /** Ends all of it in order, the databases first. */
  async stopAll(): Promise<void> {
    await Promise.all(this.members.map((member) => member.end('SIGTERM')));
    await this.haproxy.end('SIGTERM');
    await this.etcd.end('SIGTERM');
  }

  async remove(): Promise<void> {
    // By a signal that it passes on to its worker.
    await this.haproxy.end('SIGTERM');
    for (const part of [this.haproxy, ...this.members, this.etcd]) await part.remove();
  }

  /** The member whose PostgreSQL can be written, as it says itself; undefined if there is none. */
  async primary(): Promise<Member | undefined> {
    for (const member of this.members) {
      const rows = await ask(member, 'SELECT pg_is_in_recovery() AS standby').catch(() => []);
      if (rows[0]?.standby === false) return member;
    }
    return undefined;
  }

  /** Resolves to the primary and its synchronous standby, once there are both. */
  async settled(): Promise<{ primary: Member; standby: Member }> {
    for (;;) {
      const primary = await this.primary();
      const standby = this.members.find((member) => member !== primary) as Member;
      const synchronous = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
      if (primary && (await ask(primary, synchronous).catch(() => [])).length > 0 && (await isSync(standby)))
        return { primary, standby };
      await pause(100);
    }
  }

  /** Has the two change places; resolves once Patroni says that they have. */
  async switchOver(primary: Member, standby: Member): Promise<void> {
    const body = JSON.stringify({ leader: primary.name, candidate: standby.name });
    const answer = await fetch(`http://127.0.0.1:${primary.rest}/switchover`, { method: 'POST', body });
    if (answer.status !== 200) throw new Error(`No switchover: ${answer.status} ${await answer.text()}`);
  }
}

/** Whether Patroni would promote this member. */
async function isSync({ rest }: Member): Promise<boolean> {
  return fetch(`http://127.0.0.1:${rest}/synchronous`).then(
    ({ status }) => status === 200,
    () => false,
  );
}

/** What a member's PostgreSQL answers to a statement. */
export function ask(member: TestServer, sql: string): Promise<Record<string, unknown>[]> {
  return say(member, sql, { password: PASSWORD });
}
