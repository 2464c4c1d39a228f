import { ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import Libsql from 'libsql';
import { Disk } from './disk.js';

const KEY = 'key-of-the-crash-test';
const STATUSES = ['available', 'pending', 'sold'] as const;

/** How many requests are on their way at the same time. */
const WRITERS = 24;

/** How many idempotency keys whose time is over are stored for each kill. */
const OLD_KEYS = 2_000;

/** Within what time the service must store again once there is room, in milliseconds. */
const RECOVERY = 10_000;

/** How long to wait for anything else before it is taken for a fault, in milliseconds. */
const PATIENCE = 60_000;

/** A pet that a writer wants added, noted before its request is sent. */
interface Intent {
  readonly name: string;
  readonly body: string;
  /** Its Idempotency-Key: then it is sent until it is acknowledged; else once. */
  readonly key?: string;
  /** The largest id that was acknowledged before it was first sent. */
  readonly floor: bigint;
  /** The body of its 201. */
  acknowledged?: string;
}

/** What a run saw. */
export interface CrashReport {
  readonly kills: number;
  readonly intents: number;
  readonly acknowledged: number;
  /** How many requests were answered with 503 because the disk was full. */
  readonly refused: number;
  /** How many requests were sent again with their key, because the answer to them was lost or was 503. */
  readonly retries: number;
  readonly backups: number;
  readonly killedBackups: number;
  /** How many idempotency keys were forgotten because their time was over. */
  readonly forgotten: number;
  readonly found: number;
  /** What must not be, in sentences; empty for a store that keeps its promises. */
  readonly problems: readonly string[];
}

/** What goes on beside the writing when the service is killed. */
export type Beside =
  | 'nothing'
  /** A backup has been killed, and another one runs. */
  | 'backup'
  /** Idempotency keys that have had their time are being forgotten. */
  | 'forgetting'
  /** The disk is full, or was. */
  | 'full disk';

/** How a run differs from one of kills beside nothing. */
export interface Circumstances {
  /** What goes on beside the kills, in turn. */
  readonly beside?: readonly Beside[];
  /** Where the store is, if it can be full. */
  readonly disk?: Disk;
  /** One of those in saboteurs.mjs. */
  readonly saboteur?: string;
}

/**
 * Writes to the service, kills it (SIGKILL) at random under load and starts it again, so many times; then holds what is there against what was
 * acknowledged. `program` is the folder of the built service.
 */
export async function crashRun(
  program: string,
  kills: number,
  circumstances: Circumstances = {},
): Promise<CrashReport> {
  const { beside = ['nothing'] } = circumstances;
  const folder = mkdtempSync(join(tmpdir(), 'petstore-crash-'));
  const run = new CrashRun(program, folder, circumstances);
  try {
    if (beside.includes('forgetting')) run.storeOldKeys(kills * OLD_KEYS);
    for (let kill = 0; kill < kills; kill++) await run.writeUntilKilled(beside[kill % beside.length] as Beside);
    return await run.inspect(kills);
  } finally {
    run.kill();
    rmSync(folder, { recursive: true, force: true });
  }
}

interface Service {
  readonly process: ChildProcess;
  readonly port: number;
  readonly agent: Agent;
}

/** What is to be waited for after the kill. */
type Ending = (() => Promise<void>) | undefined;

class CrashRun {
  private readonly intents: Intent[] = [];
  private readonly problems: string[] = [];
  private readonly file: string;
  private readonly backups: string;
  private readonly disk: Disk | undefined;
  private readonly saboteur: string | undefined;
  private readonly seen = { acknowledged: 0, refused: 0, retries: 0, backups: 0, killedBackups: 0, forgotten: 0 };
  private highest = 0n;
  private hasOldKeys = false;
  /** Whether the service has found no old key any more since it was started. */
  private isAllForgotten = false;
  /** The service that was started last. */
  private latest: ChildProcess | undefined;
  private death: string | undefined;
  /** Until when a 503 is to be expected. */
  private refusalUntil = 0;

  constructor(
    private readonly program: string,
    folder: string,
    { disk, saboteur }: Circumstances,
  ) {
    this.disk = disk;
    this.saboteur = saboteur;
    this.file = join(disk?.folder ?? folder, 'crash.sqlite');
    this.backups = join(folder, 'backups');
    mkdirSync(this.backups);
  }

  /** Stores idempotency keys whose time is over in a new store. */
  storeOldKeys(count: number): void {
    this.hasOldKeys = true;
    execFileSync(process.execPath, [join(this.program, 'src/main.js'), 'migrate', 'run'], { env: this.environment() });
    const store = new Libsql(this.file);
    store.exec(`WITH RECURSIVE old (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM old WHERE n < ${count})
      INSERT INTO idempotency_key (scope, token, fingerprint, pet_id, created_at)
      SELECT 'old', n, 'old', n, strftime('%Y-%m-%dT%H:%M:%fZ', '2001-01-01', n || ' seconds') FROM old`);
    store.close();
  }

  /** Lets the service live until more pets are acknowledged, and what goes on beside has come so far, however long that takes. */
  async writeUntilKilled(beside: Beside): Promise<void> {
    const service = await this.start(beside === 'forgetting');
    const lost = this.intents.filter(({ key, acknowledged }) => key !== undefined && acknowledged === undefined);
    const state = { alive: true };
    const writers = Array.from({ length: WRITERS }, async () => {
      while (state.alive) {
        const intent = lost.pop();
        if (intent) this.seen.retries++;
        await this.send(service, intent ?? this.newIntent()).catch(() => undefined);
      }
    });
    const exit = once(service.process, 'exit');
    let ending: Ending;
    try {
      ending = await this[beside](service);
    } finally {
      // With WEB_CONCURRENCY the service is several processes.
      process.kill(-(service.process.pid as number), 'SIGKILL');
      await exit;
      state.alive = false;
      await Promise.all(writers);
      service.agent.destroy();
    }
    await ending?.();
  }

  private async nothing(): Promise<Ending> {
    const enough = this.seen.acknowledged + 40 + randomInt(160);
    await this.until('pets are acknowledged', () => this.seen.acknowledged >= enough);
    return undefined;
  }

  private async backup(): Promise<Ending> {
    await this.nothing();
    const killed = this.startBackup();
    await killed.begun;
    killed.process.kill('SIGKILL');
    await killed.ended;
    const other = this.startBackup();
    await other.begun;
    return () => other.ended;
  }

  private async forgetting(): Promise<Ending> {
    await this.nothing();
    const more = this.seen.forgotten + 1;
    await this.until('keys are forgotten', () => this.seen.forgotten >= more);
    await delay(randomInt(10));
    return undefined;
  }

  private async 'full disk'({ process: { pid }, port, agent }: Service): Promise<Ending> {
    const id = pid as number;
    const disk = this.disk as Disk;
    const refuse = async () => {
      this.refusalUntil = Infinity;
      disk.fill(id);
      const enough = this.seen.refused + WRITERS;
      await this.until('the service refuses what does not fit', () => this.seen.refused >= enough);
      const { status } = await ask(agent, port, 'GET', '/v1/pets');
      if (status !== 200) this.problems.push(`The list was answered with ${status} on the full disk.`);
    };
    const goOn = async () => {
      disk.free(id);
      this.refusalUntil = performance.now() + RECOVERY;
      const enough = this.seen.acknowledged + WRITERS;
      await this.until('the service stores again', () => this.seen.acknowledged >= enough, RECOVERY);
    };
    // The kill before has left it full.
    if (this.refusalUntil === Infinity) {
      await refuse();
      await goOn();
    }
    await this.nothing();
    await refuse();
    if (randomInt(2) === 0) await goOn();
    return undefined;
  }

  /** Leaves no process behind. */
  kill(): void {
    if (this.latest?.exitCode === null && this.latest.signalCode === null) this.latest.kill('SIGKILL');
  }

  async inspect(kills: number): Promise<CrashReport> {
    if (this.refusalUntil === Infinity) this.disk?.free(0);
    const service = await this.start(this.hasOldKeys);
    // Who forgets too much has done so by then.
    if (this.hasOldKeys) await this.until('all old keys are forgotten', () => this.isAllForgotten);
    // What was sent with a key and never answered is sent once more: the outcome must be one pet. So it is of what was answered.
    for (const intent of this.intents.filter(({ key }) => key !== undefined)) {
      const earlier = intent.acknowledged;
      if (earlier === undefined) this.seen.retries++;
      await this.send(service, intent);
      if (earlier !== undefined && earlier !== intent.acknowledged)
        this.problems.push(`${intent.name} was acknowledged as ${earlier}, and then as ${intent.acknowledged}.`);
    }
    const all = await this.list(service, '');
    const byStatus = [];
    for (const status of STATUSES) byStatus.push(...(await this.list(service, `&status=${status}`)));
    service.agent.destroy();
    service.process.kill('SIGTERM');
    await once(service.process, 'exit');
    this.compare(all, byStatus);
    return {
      kills,
      intents: this.intents.length,
      ...this.seen,
      acknowledged: this.intents.filter((intent) => intent.acknowledged !== undefined).length,
      found: all.length,
      problems: this.problems,
    };
  }

  private compare(all: readonly string[], byStatus: readonly string[]): void {
    const texts = new Set(all);
    const names = all.map((text) => /"name":"([^"]*)"/.exec(text)?.[1] ?? '');
    const ids = all.map((text) => BigInt(/"id":(\d+)/.exec(text)?.[1] ?? 0));
    const intended = new Set(this.intents.map(({ name }) => name));
    for (const { name, acknowledged } of this.intents) {
      if (acknowledged !== undefined && !texts.has(acknowledged))
        this.problems.push(`${name} was acknowledged and is not there.`);
    }
    for (const name of names) if (!intended.has(name)) this.problems.push(`${name} is there and was never sent.`);
    if (new Set(names).size !== names.length) this.problems.push('A pet is there more than once.');
    if (ids.some((id, i) => i > 0 && id >= (ids[i - 1] as bigint)))
      this.problems.push('The ids are not unique and descending.');
    if (byStatus.length !== all.length || byStatus.some((text) => !texts.has(text))) {
      this.problems.push('The lists of the three statuses do not add up to the whole.');
    }
  }

  private newIntent(): Intent {
    const name = `pet-${this.intents.length}`;
    const categoryId = randomBytes(8).readBigInt64BE();
    const body = `{"name":"${name}","categoryId":${categoryId},"status":"${STATUSES[randomInt(3)]}"}`;
    const intent: Intent = { name, body, floor: this.highest, ...(randomInt(2) === 0 && { key: `key-${name}` }) };
    this.intents.push(intent);
    return intent;
  }

  private async send({ agent, port }: Service, intent: Intent): Promise<void> {
    const headers = {
      'Content-Type': 'application/json',
      ...(intent.key !== undefined && { 'Idempotency-Key': intent.key }),
    };
    const { status, text } = await ask(agent, port, 'POST', '/v1/pets', headers, intent.body);
    if (status === 503 && performance.now() < this.refusalUntil) {
      this.seen.refused++;
      await delay(20);
      return;
    }
    if (status !== 201) {
      this.problems.push(`${intent.name} was answered with ${status}: ${text}`);
      return;
    }
    intent.acknowledged = text;
    this.seen.acknowledged++;
    const id = BigInt(/^\{"id":(\d+),/.exec(text)?.[1] ?? 0);
    if (text !== `{"id":${id},${intent.body.slice(1)}`) this.problems.push(`${intent.name} came back as ${text}.`);
    // An id given to a key before its answer was lost may be below what was acknowledged since, but not below the first floor.
    if (id <= intent.floor) this.problems.push(`${intent.name} has the id ${id}, which is not above ${intent.floor}.`);
    if (id > this.highest) this.highest = id;
  }

  /** Starts a backup: `begun` resolves while it is under way, and `ended` once what it left was looked at. */
  private startBackup(): { process: ChildProcess; begun: Promise<void>; ended: Promise<void> } {
    const before = this.intents.filter(({ acknowledged }) => acknowledged !== undefined).map(({ name }) => name);
    const target = join(this.backups, `${this.seen.backups + this.seen.killedBackups}.sqlite`);
    const [main, env] = [join(this.program, 'src/main.js'), this.environment()];
    const backup = spawn(process.execPath, [main, 'backup', target], { env, stdio: ['ignore', 'ignore', 'pipe'] });
    let complaint = '';
    backup.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    const isUnderWay = () => readdirSync(this.backups).some((name) => name.includes('.unfinished-'));
    const begun = this.until('a backup begins', () => isUnderWay() || backup.exitCode !== null).then(() =>
      delay(randomInt(60)),
    );
    const ended = once(backup, 'close').then(([code]) => {
      if (code === null) this.seen.killedBackups++;
      else this.seen.backups++;
      if (complaint !== '') this.problems.push(`A backup has failed: ${complaint}`);
      if (code !== null || existsSync(target)) this.checkBackup(target, before);
      for (const left of readdirSync(this.backups).filter((name) => !name.endsWith('.sqlite'))) {
        if (code !== null || !/^\d+\.sqlite\.unfinished-\w+$/.test(left))
          this.problems.push(`A backup has left ${left}.`);
        rmSync(join(this.backups, left), { recursive: true });
      }
    });
    return { process: backup, begun, ended };
  }

  /** A file that has its name is whole, and has what was acknowledged before it was begun. */
  private checkBackup(file: string, names: readonly string[]): void {
    try {
      const store = new Libsql(`${pathToFileURL(file).href}?immutable=1`);
      const [sound] = store.prepare('PRAGMA integrity_check').raw().get() as [string];
      const found = new Set((store.prepare('SELECT name FROM pet').raw().all() as [string][]).map(([name]) => name));
      store.close();
      const missing = names.filter((name) => !found.has(name)).length;
      if (sound !== 'ok' || missing > 0) this.problems.push(`A backup is ${sound}, and ${missing} pets are missing.`);
    } catch (error) {
      this.problems.push(`A backup cannot be read: ${(error as Error).message}`);
    }
  }

  /** The texts of all pets that match, newest first, page by page. */
  private async list({ agent, port }: Service, filter: string): Promise<string[]> {
    const found: string[] = [];
    let path: string | undefined = `/v1/pets?limit=100${filter}`;
    while (path !== undefined) {
      const { text, link } = await ask(agent, port, 'GET', path);
      found.push(...(text.match(/\{[^}]*\}/g) ?? []));
      path = /<([^>]*)>; rel="next"/.exec(link ?? '')?.[1];
    }
    return found;
  }

  private environment(): NodeJS.ProcessEnv {
    return { ...process.env, LOG_LEVEL: 'silent', DATABASE_URL: `sqlite:${this.file}`, API_KEYS: KEY };
  }

  /** Resolves once it is met; rejects if it is not in so many milliseconds, or the service ends by itself. */
  private async until(what: string, isMet: () => boolean, patience = PATIENCE): Promise<void> {
    const deadline = performance.now() + patience;
    while (!isMet()) {
      if (this.death !== undefined) throw new Error(this.death);
      if (performance.now() > deadline) throw new Error(`In ${patience} ms it has not come to it that ${what}.`);
      await delay(1);
    }
  }

  private async start(isForgetting = false): Promise<Service> {
    // What is preloaded changes a module, and so needs the program as it is before it is bundled.
    const modules = join(this.program, 'modules/');
    const preloaded = [...(this.saboteur ? ['saboteurs'] : []), ...(isForgetting ? ['forgetting'] : [])];
    const args =
      preloaded.length === 0
        ? [join(this.program, 'src/main.js')]
        : [...preloaded.flatMap((name) => ['--import', `./test/crash/${name}.mjs`]), join(modules, 'src/main.js')];
    const service = spawn(process.execPath, args, {
      env: {
        ...this.environment(),
        PORT: '0',
        HOST: '127.0.0.1',
        SABOTEUR: this.saboteur,
        MODULES: pathToFileURL(modules).href,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    this.latest = service;
    this.isAllForgotten = false;
    service.once('exit', (_code, signal) => {
      if (signal !== 'SIGKILL' && signal !== 'SIGTERM' && service.exitCode !== 0)
        this.death = `The service has ended by itself: ${signal ?? service.exitCode}.`;
    });
    const port = await new Promise<number>((resolve, reject) => {
      let greeting = '';
      createInterface(service.stdout).on('line', (line) => {
        const count = /^forgot (\d+)$/.exec(line)?.[1];
        this.seen.forgotten += Number(count ?? 0);
        this.isAllForgotten ||= count === '0';
        greeting += line;
        const found = /http:\/\/127\.0\.0\.1:(\d+)\/v1$/.exec(line)?.[1];
        if (found !== undefined) resolve(Number(found));
      });
      service.once('exit', () => reject(new Error(`The service did not start: ${greeting}`)));
    });
    return { process: service, port, agent: new Agent({ keepAlive: true, maxSockets: WRITERS }) };
  }
}

interface Reply {
  readonly status: number | undefined;
  readonly text: string;
  readonly link: string | undefined;
}

function ask(
  agent: Agent,
  port: number,
  method: string,
  path: string,
  headers: Record<string, string> = {},
  body?: string,
): Promise<Reply> {
  return new Promise((resolve, reject) => {
    const asking = request(
      { host: '127.0.0.1', port, path, method, agent, headers: { Authorization: `Bearer ${KEY}`, ...headers } },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8');
        answer.on('data', (chunk: string) => (text += chunk));
        answer.on('error', reject);
        answer.on('end', () =>
          resolve({ status: answer.statusCode, text, link: answer.headers.link as string | undefined }),
        );
      },
    );
    asking.on('error', reject);
    asking.end(body);
  });
}
