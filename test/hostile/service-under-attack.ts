import { randomUUID } from 'node:crypto';
import { expect } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { Connection, WireAnswer } from '../support/connection.js';
import { newPetJson } from '../support/fields.js';
import { pause } from '../support/ledger.js';
import { buildProgram } from '../support/program.js';
import { RunningService, WorkingFolder } from '../support/working-folder.js';

/** A key that the service under attack accepts. */
export const KEY = 'key-of-the-hostile-tests';

/** The head of a createPet with this much of a body. */
export const postHead = (length: number): string =>
  `POST /v1/pets HTTP/1.1\nHost: x\nKEY\nContent-Type: application/json\nContent-Length: ${length}\n\n`;

/** A whole createPet with this body. */
export const post = (body = newPetJson()): string => postHead(Buffer.byteLength(body)) + body;

/** A whole GET with the key. */
export const get = (path: string): string => `GET ${path} HTTP/1.1\nHost: x\nKEY\n\n`;

/** What goes over the wire: CRLF at the end of lines, and the key inserted. */
export const bytes = (text: string): Buffer =>
  Buffer.from(text.replaceAll('\n', '\r\n').replaceAll('KEY', `Authorization: Bearer ${KEY}`), 'latin1');

/** The most memory that a process has taken so far, in MB. */
export const peakMemory = (pid: number): number =>
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
  private processes: number[] = [];
  private descriptors = 0;

  private constructor(
    private readonly folder: WorkingFolder,
    private readonly service: RunningService,
    private readonly workers: number,
    private readonly variables: Readonly<Record<string, string>>,
  ) {}

  /** Starts it by so many processes, and has it answer some requests first. */
  static async start(workers: number, variables: Readonly<Record<string, string>> = {}): Promise<ServiceUnderAttack> {
    const folder = new WorkingFolder(buildProgram());
    const environment = { API_KEYS: KEY, LOG_LEVEL: 'silent', WEB_CONCURRENCY: String(workers), ...variables };
    const service = new ServiceUnderAttack(folder, await folder.serve(environment), workers, variables);
    for (let i = 0; i < 2 * workers; i++)
      for (const text of [post(), get('/v1/pets'), get('/v1/pets/1'), get('/docs/swagger-ui.css')])
        await service.ask(text);
    service.processes = service.processesNow();
    service.descriptors = service.descriptorsNow();
    return service;
  }

  get port(): number {
    return Number(new URL(this.service.address).port);
  }

  /** The ids of its processes: the only one, or the primary and its workers. */
  get pids(): readonly number[] {
    return this.processes;
  }

  /** Opens a connection, which ends if nothing happens on it, and sends this. */
  async open(text: string | Buffer = ''): Promise<Connection> {
    const connection = await Connection.open(this.port);
    connection.socket.setTimeout(SILENCE, () => connection.destroy());
    connection.write(typeof text === 'string' ? bytes(text) : text);
    return connection;
  }

  /** Sends a request on a connection of its own, and resolves to its response. */
  ask(text: string): Promise<WireAnswer> {
    return Connection.ask(this.port, bytes(text));
  }

  /** Issues one more key, which the service has not seen yet, and resolves to its text. */
  async newKey(): Promise<string> {
    const { out } = await this.folder.run(['keys', 'create', '--name', randomUUID()], this.variables);
    return /pets_\w+/.exec(out)?.[0] as string;
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

  /** Expects the same processes, each of them quick to answer, with no descriptor more than before. */
  async expectUnharmed(): Promise<void> {
    for (let i = 0; i < this.workers; i++) expect(await this.live()).toBeLessThan(ALIVE);
    const end = performance.now() + RELEASE;
    const most = this.descriptors + NEW_DESCRIPTORS * this.workers;
    while (this.descriptorsNow() > most && performance.now() < end) await pause(20);
    expect(this.descriptorsNow()).toBeLessThanOrEqual(most);
    expect(this.processesNow()).toEqual(this.processes);
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
