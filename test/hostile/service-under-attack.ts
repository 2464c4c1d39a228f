import { expect } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Connection, WireAnswer } from '../support/connection.js';
import { pause } from '../support/ledger.js';
import { buildProgram } from '../support/program.js';
import { bytes, get, KEY, post } from '../support/raw-requests.js';
import { RunningService, WorkingFolder } from '../support/working-folder.js';

/** The most memory that a process has taken so far, in MB. */
const peakMemory = (pid: number): number =>
  Number(/^VmHWM:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;

/** Within what time `/health/live` must answer, whatever happens, on a busy machine; in milliseconds. */
const ALIVE = 2_000;

/** How long the release of descriptors may take, in milliseconds. */
const RELEASE = 10_000;

/** How many descriptors a process may open for good when it first needs them, as SQLite does for its files. */
const NEW_DESCRIPTORS = 3;

/** How long a connection may be silent before it is given up, in milliseconds. */
const SILENCE = 5_000;

/** The built service in processes of its own, attacked and watched from outside. */
export class ServiceUnderAttack {
  /** The ids of its processes: the only one, or the primary and its workers. */
  pids: readonly number[] = [];
  private descriptors = 0;

  private constructor(
    private readonly folder: WorkingFolder,
    private readonly service: RunningService,
    private readonly workers: number,
  ) {}

  /** Starts it by so many processes, and has it answer some requests first. */
  static async start(workers: number, variables: Readonly<Record<string, string>> = {}): Promise<ServiceUnderAttack> {
    const folder = new WorkingFolder(buildProgram());
    const environment = { API_KEYS: KEY, LOG_LEVEL: 'silent', WEB_CONCURRENCY: String(workers), ...variables };
    const service = new ServiceUnderAttack(folder, await folder.serve(environment), workers);
    for (let i = 0; i < 2 * workers; i++)
      for (const text of [post('first'), get('/v1/pets'), get('/v1/pets/1'), get('/docs/swagger-ui.css')])
        await service.ask(text);
    service.pids = service.processesNow();
    service.descriptors = service.descriptorsNow();
    return service;
  }

  get port(): number {
    return this.service.port;
  }

  /** Opens a connection, which ends if nothing happens on it, and sends this. */
  async open(text = ''): Promise<Connection> {
    const connection = await Connection.open(this.port);
    connection.socket.setTimeout(SILENCE, () => connection.destroy());
    connection.write(bytes(text));
    return connection;
  }

  /** Sends a request on a connection of its own, and resolves to its response. */
  ask(text: string): Promise<WireAnswer> {
    return Connection.ask(this.port, bytes(text));
  }

  /** How long `/health/live` takes to answer on a new connection, in milliseconds. */
  async live(): Promise<number> {
    const begun = performance.now();
    await this.ask('GET /health/live HTTP/1.1\nHost: x\n\n');
    return performance.now() - begun;
  }

  /** Expects `/health/live` to answer in time, again and again, until this is over. */
  async expectAliveWhile(attack: Promise<unknown>): Promise<void> {
    let isOver = false;
    let slowest = 0;
    void attack.finally(() => (isOver = true)).catch(() => undefined);
    do {
      slowest = Math.max(slowest, await this.live());
      await pause(20);
    } while (!isOver);
    await attack;
    expect(slowest).toBeLessThan(ALIVE);
  }

  /**
   * Expects the same processes, each of them quick to answer, with no descriptor more than before, and none of which
   * has ever taken so many MB of memory.
   */
  async expectUnharmed(memory: number): Promise<void> {
    for (let i = 0; i < this.workers; i++) expect(await this.live()).toBeLessThan(ALIVE);
    const end = performance.now() + RELEASE;
    const most = this.descriptors + NEW_DESCRIPTORS * this.workers;
    while (this.descriptorsNow() > most && performance.now() < end) await pause(20);
    expect(this.descriptorsNow()).toBeLessThanOrEqual(most);
    expect(this.processesNow()).toEqual(this.pids);
    for (const pid of this.pids) expect(peakMemory(pid)).toBeLessThan(memory);
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
