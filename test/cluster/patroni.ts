import { copyFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { binary, freePort, killAll, postgresBinary, server, TestServer } from '../support/servers.js';
import { until } from '../support/working-folder.js';
import { ask } from './instances.js';

/** How long the cluster may take to have a primary, or one with its standby, in milliseconds. */
const PROMOTION = 120_000;

const PASSWORD = 'password-of-the-cluster-test';

/** The user and the password of the members, as they stand in a URL. */
const USER = `postgres:${PASSWORD}`;

/** A PostgreSQL under Patroni. `start` and `end` are of Patroni. */
export interface Member extends TestServer {
  readonly name: string;
  /** The port of Patroni's REST API. */
  readonly rest: number;
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
  const patroni = await server(
    undefined,
    (data, port) => {
      folder = data;
      copyFileSync('deploy/patroni/patroni.yml', `${data}.yml`);
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
  const kill = async (): Promise<void> => {
    // PostgreSQL has inherited the outputs of Patroni, which counts as ended once both have.
    const ended = patroni.end('SIGKILL');
    const file = `${folder}/postmaster.pid`;
    if (existsSync(file)) killAll(Number(readFileSync(file, 'utf8').split('\n')[0]));
    await ended;
  };
  const remove = async (): Promise<void> => {
    await kill();
    await patroni.remove();
  };
  return { ...patroni, name, rest, kill, remove };
}

/** HAProxy by the configuration of `deploy`, with the addresses of these members. */
function newHaproxy(members: readonly Member[]): Promise<TestServer> {
  return server(
    undefined,
    (data, port) => {
      let text = readFileSync('deploy/patroni/haproxy.cfg', 'utf8').replace('bind :5000', `bind 127.0.0.1:${port}`);
      for (const { name, port: own, rest } of members)
        text = text.replace(`server ${name} ${name}:5432`, `server ${name} 127.0.0.1:${own} port ${rest}`);
      writeFileSync(`${data}.cfg`, text);
      return [binary('haproxy', ['/usr/sbin', '/usr/local/sbin'])!, '-W', '-db', '-f', `${data}.cfg`];
    },
    'Loading success',
  );
}

/** Two PostgreSQLs under Patroni with etcd, and HAProxy in front of them, as `deploy/patroni` configures them. */
export class PatroniCluster {
  private databases = 0;

  private constructor(
    private readonly etcd: TestServer,
    private readonly members: readonly [Member, Member],
    private readonly haproxy: TestServer,
  ) {}

  static async start(): Promise<PatroniCluster> {
    const etcd = await newEtcd();
    const members = [await newMember('db-1', etcd), await newMember('db-2', etcd)] as const;
    const haproxy = await newHaproxy(members);
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

  /** Resolves once the PostgreSQL of this member is the primary. */
  untilPrimary(member: Member): Promise<void> {
    return until(() => this.isPrimary(member), PROMOTION);
  }

  /** Resolves to the primary and its synchronous standby, once there are both. */
  async settled(): Promise<{ primary: Member; standby: Member }> {
    const [one, other] = this.members;
    let [primary, standby] = [one, other];
    await until(async () => {
      [primary, standby] = (await this.isPrimary(one)) ? [one, other] : [other, one];
      const synchronous = `SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync'`;
      const standbys = await this.ask(primary, synchronous).catch(() => []);
      const response = await fetch(`http://127.0.0.1:${standby.rest}/synchronous`).catch(() => undefined);
      return standbys.length > 0 && response?.status === 200;
    }, PROMOTION);
    return { primary, standby };
  }

  /** Has the two change places; resolves once Patroni says that they have. */
  async switchOver({ primary, standby }: { primary: Member; standby: Member }): Promise<void> {
    const body = JSON.stringify({ leader: primary.name, candidate: standby.name });
    const response = await fetch(`http://127.0.0.1:${primary.rest}/switchover`, { method: 'POST', body });
    if (response.status !== 200) throw new Error(`No switchover: ${response.status} ${await response.text()}`);
  }

  /** Whether the PostgreSQL of this member can be written. */
  private async isPrimary(member: Member): Promise<boolean> {
    const [row] = await this.ask(member, 'SELECT pg_is_in_recovery()').catch(() => []);
    return row?.[0] === false;
  }
}
