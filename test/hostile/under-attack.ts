import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeEach, expect } from '@jest/globals';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { Connection, WireAnswer } from '../support/connection.js';
import { buildProgram } from '../support/program.js';
import { RunningService, WorkingFolder } from '../support/working-folder.js';

/** A key that the service under attack accepts. */
export const KEY = 'key-of-the-hostile-test';

/** The head of a createPet with this much of a body. */
export const postHead = (length: number): string =>
  `POST /v1/pets HTTP/1.1\nHost: x\nKEY\nContent-Type: application/json\nContent-Length: ${length}\n\n`;

/** A whole createPet of a pet with this name. */
export function post(name: string): string {
  const body = petBody(name);
  return postHead(body.length) + body;
}

/** The body of a createPet. */
export const petBody = (name: string): string => `{"name":"${name}","categoryId":1}`;

/** A whole GET with the key. */
export const get = (path: string): string => `GET ${path} HTTP/1.1\nHost: x\nKEY\n\n`;

/** What goes over the wire: the lines' ends and the key put in. */
export const bytes = (text: string): Buffer =>
  Buffer.from(text.replaceAll('\n', '\r\n').replaceAll('KEY', `Authorization: Bearer ${KEY}`), 'latin1');

/** Resolves behind so many milliseconds. */
export const pause = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time));

/** Within what time `/health/live` must answer, in milliseconds, whatever goes on. */
const ALIVE = 1_000;

/** How long an answer, or the return of descriptors, is waited for, in milliseconds. */
const PATIENCE = 10_000;

/** How many descriptors a process may open for good when it is first asked for something, as SQLite does for its files. */
const NEW_DESCRIPTORS = 3;

/** How long a connection may be silent before it is given up, in milliseconds. */
const SILENCE = 3_000;

/** How much more memory than at rest a process may take at any moment, in bytes: what one read of the socket brings, and what V8 has not collected yet. */
const MEMORY = 192 * 1024 * 1024;

/** The built service in processes of its own, attacked and looked at from outside. */
export class ServiceUnderAttack {
  private processes: number[] = [];
  private descriptors = 0;
  private readonly memory = new Map<number, number>();

  private constructor(
    private readonly folder: WorkingFolder,
    private readonly service: RunningService,
    readonly port: number,
    private readonly workers: number,
    private readonly variables: Readonly<Record<string, string>>,
  ) {}

  /** Starts it on SQLite by so many processes, and lets it answer one request of each kind. */
  static async start(workers: number, variables: Readonly<Record<string, string>>): Promise<ServiceUnderAttack> {
    const folder = new WorkingFolder(buildProgram());
    const service = await folder.serve({
      API_KEYS: KEY,
      LOG_LEVEL: 'silent',
      WEB_CONCURRENCY: String(workers),
      ...variables,
    });
    const started = new ServiceUnderAttack(folder, service, Number(new URL(service.address).port), workers, variables);
    for (let i = 0; i < 2 * workers; i++) {
      for (const text of [post('warm-up'), get('/v1/pets'), get('/v1/pets/1'), get('/docs/swagger-ui.css')]) {
        await started.ask(text);
      }
    }
    started.processes = started.processesNow();
    started.descriptors = started.descriptorsNow();
    return started;
  }

  /** Opens a connection, which ends if nothing happens on it. */
  async open(): Promise<Connection> {
    const connection = await Connection.open(this.port);
    connection.socket.setTimeout(SILENCE, () => connection.destroy());
    return connection;
  }

  /** Sends a request on a connection of its own, and resolves to its answer. */
  ask(text: string): Promise<WireAnswer> {
    return Connection.ask(this.port, bytes(text));
  }

  /** Issues one more key, which the service has not seen yet, and resolves to its text. */
  async newKey(): Promise<string> {
    const { out } = await this.folder.run(['keys', 'create', '--name', randomUUID()], this.variables);
    return /pets_\w+/.exec(out)?.[0] as string;
  }

  /** The names of all pets that are stored, as the service lists them. */
  async stored(): Promise<string[]> {
    const names: string[] = [];
    for (let path: string | undefined = '/v1/pets?limit=100'; path !== undefined;) {
      const answer = await this.ask(get(path));
      names.push(...(JSON.parse(answer.body) as { name: string }[]).map(({ name }) => name));
      path = /<([^>]*)>; rel="next"/.exec(answer.header('Link') ?? '')?.[1];
    }
    return names;
  }

  /** How long `/health/live` takes to answer on a new connection, in milliseconds; 10,000 if it does not. */
  live(): Promise<number> {
    return new Promise((resolve, reject) => {
      const begun = performance.now();
      const socket = connect(this.port, '127.0.0.1', () =>
        socket.write('GET /health/live HTTP/1.1\r\nHost: x\r\n\r\n'),
      );
      socket.setTimeout(PATIENCE, () => {
        resolve(PATIENCE);
        socket.destroy();
      });
      socket.once('data', () => {
        resolve(performance.now() - begun);
        socket.destroy();
      });
      socket.once('error', reject).once('close', () => reject(new Error('/health/live is not answered.')));
    });
  }

  /** The longest that `/health/live`, asked again and again, took to answer until this was over, in milliseconds. */
  async slowestWhile(attack: Promise<unknown>): Promise<number> {
    let over = false;
    let slowest = 0;
    void attack.finally(() => (over = true)).catch(() => undefined);
    do {
      slowest = Math.max(slowest, await this.live());
      await pause(20);
    } while (!over);
    await attack;
    return slowest;
  }

  /** Notes the memory that each process has, against which its peak is held. */
  measure(): void {
    this.memory.clear();
    for (const pid of this.processes) {
      // From here on the kernel counts the peak anew.
      writeFileSync(`/proc/${pid}/clear_refs`, '5');
      this.memory.set(pid, kilobytes(pid, 'VmRSS'));
    }
  }

  /** Expects the same processes, each of them quick to answer, with no descriptor and little memory more than before. */
  async expectUnharmed(): Promise<void> {
    // Each worker has a turn.
    for (let i = 0; i < this.workers; i++) expect(await this.live()).toBeLessThan(ALIVE);
    const end = performance.now() + PATIENCE;
    const most = this.descriptors + NEW_DESCRIPTORS * this.workers;
    while (this.descriptorsNow() > most && performance.now() < end) await pause(20);
    expect(this.descriptorsNow()).toBeLessThanOrEqual(most);
    expect(this.processesNow()).toEqual(this.processes);
    for (const [pid, before] of this.memory) expect(kilobytes(pid, 'VmHWM') - before).toBeLessThan(MEMORY / 1024);
  }

  /** The ids of its processes: the only one, or the primary and its workers. */
  get pids(): readonly number[] {
    return this.processes;
  }

  remove(): Promise<void> {
    return this.folder.remove();
  }

  private processesNow(): number[] {
    return [this.service.pid, ...this.service.workers].filter((pid) => existsSync(`/proc/${pid}`));
  }

  private descriptorsNow(): number {
    return this.processesNow().reduce((sum, pid) => sum + readdirSync(`/proc/${pid}/fd`).length, 0);
  }
}

/**
 * The service of the suite around it, by so many processes. After each case it must be unharmed; if a case has harmed it, the next
 * one gets another.
 */
export function underAttack(
  workers: number,
  variables: Readonly<Record<string, string>> = {},
): () => ServiceUnderAttack {
  let service: ServiceUnderAttack | undefined;

  beforeEach(async () => {
    service ??= await ServiceUnderAttack.start(workers, variables);
    service.measure();
  }, 60_000);

  afterEach(async () => {
    const attacked = service as ServiceUnderAttack;
    service = undefined;
    try {
      await attacked.expectUnharmed();
      service = attacked;
    } finally {
      if (!service) await attacked.remove();
    }
  }, 60_000);

  afterAll(() => service?.remove());

  return () => service as ServiceUnderAttack;
}

function kilobytes(pid: number, field: string): number {
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}
