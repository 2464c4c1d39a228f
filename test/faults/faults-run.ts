import { ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { Random } from '../hostile/generated-requests.js';
import { StoreKind } from '../support/stores.js';
import { Clients } from './clients.js';
import { Ledger } from './ledger.js';
import { Hands, KEY, Orders, troublesOf } from './troubles.js';

/** How many clients ask at the same time. */
const CLIENTS = 16;

/** What a request may wait for the store, in milliseconds. */
const LIMITS = { POOL_TIMEOUT: '500', STATEMENT_TIMEOUT: '1000' };

/** Within what time a request must be answered: both limits, and something for a busy machine; in milliseconds. */
const BOUND = 1_500 + 1_500;

/** Within what time the service must be ready once all faults are over, in milliseconds. */
const RECOVERY = 10_000;

/** A run with random faults. */
export interface FaultsRun {
  /** The folder of the built service. */
  readonly program: string;
  readonly kind: StoreKind;
  readonly seed: number;
  readonly seconds: number;
  /** One of those in ../crash/saboteurs.mjs. */
  readonly saboteur?: string;
}

/** What a run saw. */
export interface FaultsReport {
  /** How often there was each fault; those of statements by statement. */
  readonly faults: Readonly<Record<string, number>>;
  readonly answers: Readonly<Record<string, number>>;
  readonly acknowledged: number;
  /** The longest that an answer took, and the service to be ready after the faults, in milliseconds. */
  readonly slowest: number;
  readonly recovery: number;
  /** What must not be, in sentences. */
  readonly problems: readonly string[];
  /** The end of the log of the service, if there are problems. */
  readonly log: string;
}

/** Has clients work with a service on a store of this kind while there are faults, and holds all answers and what is there in the end against each other. */
export async function faultsRun({ program, kind, seed, seconds, saboteur }: FaultsRun): Promise<FaultsReport> {
  const store = await kind.create();
  // The service makes its tables through a way that is in order.
  const troubles = await troublesOf(kind.name, store.url);
  const ledger = new Ledger(BOUND);
  const service = await Service.start(program, troubles.url, seed, saboteur);
  const clients = new Clients(service.port, KEY, ledger, new Random(seed));
  const random = new Random(seed + 1);
  const faults: Record<string, number> = {};
  let recovery: number;
  try {
    const end = performance.now() + seconds * 1_000;
    const isOver = () => performance.now() > end || service.hasEnded;
    const hands: Hands = {
      random,
      order: (orders) => service.order(orders),
      someKey: () => {
        const latest = ledger.intents.slice(-50).filter(({ key, acknowledged }) => key !== undefined && !acknowledged);
        return latest.length > 0 ? (random.pick(latest).key as string) : 'none';
      },
    };
    const make = async () => {
      while (!isOver()) {
        await delay(random.int(400));
        const name = random.pick(Object.keys(troubles.kinds));
        // Errors are counted as they are met.
        if (!name.startsWith('error ')) faults[name] = (faults[name] ?? 0) + 1;
        await troubles.kinds[name]?.(hands).catch((error: Error) => ledger.problem(`${name}: ${error.message}`));
      }
    };
    await Promise.all([clients.work(CLIENTS, isOver), make()]);
    recovery = await service.recovery();
    if (recovery > RECOVERY) ledger.problem(`The service was not ready ${RECOVERY} ms after the faults.`);
    else await clients.settle();
    for (const [error, count] of Object.entries(await service.counts())) faults[`error ${error}`] = count;
    const code = await service.end();
    if (code !== 0) ledger.problem(`The service has ended with ${code}.`);
  } finally {
    clients.close();
    service.kill();
    await troubles.close();
    await store.remove();
  }
  const { answers, slowest, found: problems, acknowledged } = ledger;
  const log = problems.length > 0 ? service.log : '';
  return { faults, answers, acknowledged: acknowledged.length, slowest, recovery, problems, log };
}

class Service {
  private constructor(
    private readonly process: ChildProcess,
    readonly port: number,
    private readonly state: { readonly log: string; readonly hasEnded: boolean },
  ) {}

  /** The end of what it has written to its outputs. */
  get log(): string {
    return this.state.log;
  }

  get hasEnded(): boolean {
    return this.state.hasEnded;
  }

  static async start(program: string, url: string, seed: number, saboteur: string | undefined): Promise<Service> {
    const modules = join(program, 'modules/');
    const preloaded = ['./test/faults/saboteur.mjs', ...(saboteur ? ['./test/crash/saboteurs.mjs'] : [])];
    const args = [...preloaded.flatMap((name) => ['--import', name]), join(modules, 'src/main.js')];
    const child = spawn(process.execPath, args, {
      env: {
        ...process.env,
        ...LIMITS,
        PORT: '0',
        HOST: '127.0.0.1',
        LOG_LEVEL: 'error',
        DATABASE_URL: url,
        API_KEYS: KEY,
        FAULTS_SEED: String(seed),
        SABOTEUR: saboteur,
        MODULES: pathToFileURL(modules).href,
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    const state = { log: '', hasEnded: false };
    const port = await new Promise<number>((resolve, reject) => {
      for (const output of [child.stdout, child.stderr]) {
        output?.setEncoding('utf8').on('data', (chunk: string) => {
          state.log = (state.log + chunk).slice(-10_000);
          const found = /http:\/\/127\.0\.0\.1:(\d+)\/v1\n/.exec(state.log)?.[1];
          if (found !== undefined) resolve(Number(found));
        });
      }
      child.once('exit', () => {
        state.hasEnded = true;
        reject(new Error(`The service did not start: ${state.log}`));
      });
    });
    return new Service(child, port, state);
  }

  order(orders: Orders): void {
    if (!this.hasEnded) this.process.send(orders);
  }

  /** How often statements failed, by error. */
  async counts(): Promise<Record<string, number>> {
    if (this.hasEnded) return {};
    const answer = once(this.process, 'message');
    this.process.send({ counts: true });
    return ((await answer) as [Record<string, number>])[0];
  }

  /** After how many milliseconds the service is ready; a little more than it may take if it is not. */
  async recovery(): Promise<number> {
    const begun = performance.now();
    for (;;) {
      const took = performance.now() - begun;
      if (took > RECOVERY) return took;
      const answer = await fetch(`http://127.0.0.1:${this.port}/health/ready`).catch(() => undefined);
      if (answer?.status === 200) return performance.now() - begun;
      await delay(20);
    }
  }

  /** Stops it in order, and resolves to its exit code, or to the signal that ended it. */
  async end(): Promise<number | string | null> {
    if (!this.hasEnded) {
      const exit = once(this.process, 'exit');
      this.process.kill('SIGTERM');
      await exit;
    }
    return this.process.exitCode ?? this.process.signalCode;
  }

  kill(): void {
    this.process.kill('SIGKILL');
  }
}
