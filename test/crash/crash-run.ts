import { ChildProcess, spawn } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

const KEY = 'key-of-the-crash-test';
const STATUSES = ['available', 'pending', 'sold'] as const;

/** How many requests are on their way at the same time. */
const WRITERS = 24;

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
  /** How many requests were sent again with their key, because the answer to them was lost. */
  readonly retries: number;
  readonly found: number;
  /** What must not be, in sentences; empty for a store that keeps its promises. */
  readonly problems: readonly string[];
}

/**
 * Writes to the service, kills it (SIGKILL) at random under load and starts it again, so many times; then holds what is there against what was
 * acknowledged. `program` is the folder of the built service, `saboteur` one of those in saboteurs.mjs.
 */
export async function crashRun(program: string, kills: number, saboteur?: string): Promise<CrashReport> {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-crash-'));
  const run = new CrashRun(program, join(folder, 'crash.sqlite'), saboteur);
  try {
    for (let kill = 0; kill < kills; kill++) await run.writeUntilKilled(40 + randomInt(160));
    return await run.inspect(kills);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

class CrashRun {
  private readonly intents: Intent[] = [];
  private readonly problems: string[] = [];
  private highest = 0n;
  private retries = 0;
  private onAcknowledged: () => void = () => undefined;

  constructor(
    private readonly program: string,
    private readonly file: string,
    private readonly saboteur: string | undefined,
  ) {}

  /** Lets the service live until so many more pets are acknowledged, however long that takes. */
  async writeUntilKilled(acknowledgements: number): Promise<void> {
    const { service, port } = await this.start(this.saboteur);
    const agent = new Agent({ keepAlive: true, maxSockets: WRITERS });
    const lost = this.intents.filter(({ key, acknowledged }) => key !== undefined && acknowledged === undefined);
    const state = { alive: true };
    this.onAcknowledged = () => {
      // With WEB_CONCURRENCY the service is several processes.
      if (--acknowledgements === 0) process.kill(-(service.pid as number), 'SIGKILL');
    };
    const writers = Array.from({ length: WRITERS }, async () => {
      while (state.alive) {
        const intent = lost.pop();
        if (intent) this.retries++;
        await this.send(agent, port, intent ?? this.newIntent()).catch(() => undefined);
      }
    });
    await once(service, 'exit');
    state.alive = false;
    await Promise.all(writers);
    agent.destroy();
  }

  async inspect(kills: number): Promise<CrashReport> {
    const { service, port } = await this.start();
    const agent = new Agent({ keepAlive: true });
    // What was sent with a key and never answered is sent once more: the outcome must be one pet.
    for (const intent of this.intents) {
      if (intent.key === undefined || intent.acknowledged !== undefined) continue;
      this.retries++;
      await this.send(agent, port, intent);
    }
    const all = await this.list(agent, port, '');
    const byStatus = [];
    for (const status of STATUSES) byStatus.push(...(await this.list(agent, port, `&status=${status}`)));
    agent.destroy();
    service.kill('SIGTERM');
    await once(service, 'exit');
    this.compare(all, byStatus);
    const acknowledged = this.intents.filter((intent) => intent.acknowledged !== undefined).length;
    return {
      kills,
      intents: this.intents.length,
      acknowledged,
      retries: this.retries,
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
    if (new Set(names).size !== names.length) this.problems.push('An animal is there more than once.');
    if (ids.some((id, i) => i > 0 && id >= (ids[i - 1] as bigint)))
      this.problems.push('The ids are not unique and descending.');
    if (byStatus.length !== all.length || byStatus.some((text) => !texts.has(text))) {
      this.problems.push('The lists of the three statuses do not add up to the whole.');
    }
  }

  private newIntent(): Intent {
    const name = `animal-${this.intents.length}`;
    const categoryId = randomBytes(8).readBigInt64BE();
    const body = `{"name":"${name}","categoryId":${categoryId},"status":"${STATUSES[randomInt(3)]}"}`;
    const intent: Intent = { name, body, floor: this.highest, ...(randomInt(2) === 0 && { key: `key-${name}` }) };
    this.intents.push(intent);
    return intent;
  }

  private async send(agent: Agent, port: number, intent: Intent): Promise<void> {
    const headers = {
      'Content-Type': 'application/json',
      ...(intent.key !== undefined && { 'Idempotency-Key': intent.key }),
    };
    const { status, text } = await ask(agent, port, 'POST', '/v1/pets', headers, intent.body);
    if (status !== 201) {
      this.problems.push(`${intent.name} was answered with ${status}: ${text}`);
      return;
    }
    intent.acknowledged = text;
    this.onAcknowledged();
    const id = BigInt(/^\{"id":(\d+),/.exec(text)?.[1] ?? 0);
    if (text !== `{"id":${id},${intent.body.slice(1)}`) this.problems.push(`${intent.name} came back as ${text}.`);
    // An id given to a key before its answer was lost may be below what was acknowledged since, but not below the first floor.
    if (id <= intent.floor) this.problems.push(`${intent.name} has the id ${id}, which is not above ${intent.floor}.`);
    if (id > this.highest) this.highest = id;
  }

  /** The texts of all pets that match, newest first, page by page. */
  private async list(agent: Agent, port: number, filter: string): Promise<string[]> {
    const found: string[] = [];
    let path: string | undefined = `/v1/pets?limit=100${filter}`;
    while (path !== undefined) {
      const { text, link } = await ask(agent, port, 'GET', path);
      found.push(...(text.match(/\{[^}]*\}/g) ?? []));
      path = /<([^>]*)>; rel="next"/.exec(link ?? '')?.[1];
    }
    return found;
  }

  private async start(saboteur?: string): Promise<{ service: ChildProcess; port: number }> {
    // What is preloaded changes a module, and so needs the program as it is before it is bundled.
    const modules = join(this.program, 'modules/');
    const args =
      saboteur === undefined
        ? [join(this.program, 'src/main.js')]
        : ['--import', './test/crash/saboteurs.mjs', join(modules, 'src/main.js')];
    const service = spawn(process.execPath, args, {
      env: {
        ...process.env,
        PORT: '0',
        HOST: '127.0.0.1',
        LOG_LEVEL: 'silent',
        DATABASE_URL: `sqlite:${this.file}`,
        API_KEYS: KEY,
        SABOTEUR: saboteur,
        MODULES: pathToFileURL(modules).href,
      },
      stdio: ['ignore', 'pipe', 'inherit'],
      detached: true,
    });
    const port = await new Promise<number>((resolve, reject) => {
      let greeting = '';
      service.stdout.on('data', (chunk: Buffer) => {
        greeting += chunk.toString();
        const found = /http:\/\/127\.0\.0\.1:(\d+)\/v1\n/.exec(greeting)?.[1];
        if (found !== undefined) resolve(Number(found));
      });
      service.once('exit', () => reject(new Error(`The service did not start: ${greeting}`)));
    });
    return { service, port };
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
