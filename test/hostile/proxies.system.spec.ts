import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { Connection, WireAnswer } from '../support/connection.js';
import { buildProgram } from '../support/program.js';
import { describeBehind, haproxy, nginx, ReverseProxy } from '../support/reverse-proxy.js';
import { freePort } from '../support/servers.js';
import { startReady } from '../support/start-ready.js';
import { WorkingFolder } from '../support/working-folder.js';
import { add, Ask, KEY, KINDS } from './proxied-requests.js';
import { storedPets } from './stored-pets.js';

// Not a spec: `npm run test:proxies` runs it.

/** For how long each proxy passes requests on, in seconds. */
const SECONDS = Number(process.env.PROXIES_SECONDS ?? 5);

const CLIENTS = 32;

/** How long an answer is waited for, in milliseconds. */
const PATIENCE = 30_000;

/** This one ends the client's connection, without a word, behind an answer that came before all of the request was there. */
const UNBUFFERED = nginx('nginx that passes a body on as it comes', { passing: 'proxy_request_buffering off;' });

const PROXIES = [nginx(), UNBUFFERED, haproxy()];

const pause = (time: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, time));

const random = (below: number): number => Math.floor(below * Math.random());

/** Many clients of one proxy, and what became of what they sent. */
class Clients {
  /** What went wrong, a line for each request. */
  readonly problems: string[] = [];
  /** The JSON texts of the pets that were answered with 201, by name. */
  readonly added = new Map<string, string>();
  /** The names of the pets of which it is not known whether they were added: nobody waited for the answer. */
  readonly unanswered = new Set<string>();
  answered = 0;
  private sent = 0;
  private known = '';

  /** `endsEarly` says that the proxy may end a connection behind an early answer. */
  constructor(
    private readonly port: number,
    private readonly endsEarly: boolean,
  ) {}

  /** Sends requests for so many seconds, from so many clients at a time. */
  async send(clients: number, seconds: number): Promise<void> {
    const connection = await this.open();
    await this.exchange(connection, [add(++this.sent)]);
    connection.destroy();
    const end = performance.now() + seconds * 1_000;
    await Promise.all(Array.from({ length: clients }, () => this.sendUntil(end)));
  }

  /** Sends a few requests at once, again and again, on connections that are kept for as long as both sides like. */
  private async sendUntil(end: number): Promise<void> {
    let connection: Connection | undefined;
    while (performance.now() < end) {
      connection ??= await this.open();
      const asks = Array.from({ length: 1 + random(3) }, () =>
        (KINDS[random(KINDS.length)] as (typeof KINDS)[number])(++this.sent, this.known),
      );
      if (await this.exchange(connection, asks)) continue;
      connection.destroy();
      connection = undefined;
    }
    connection?.destroy();
  }

  /** Sends these in one go, and resolves to whether the connection can be used further, once all are answered that are to be. */
  private async exchange(connection: Connection, wanted: readonly Ask[]): Promise<boolean> {
    const last = wanted.findIndex(({ then }) => then !== undefined);
    const asks = last < 0 ? wanted : wanted.slice(0, last + 1);
    const text = asks.map(({ text }) => text).join('');
    const cut = random(text.length);
    connection.write(text.slice(0, cut));
    await pause(random(3));
    connection.write(text.slice(cut));
    for (const ask of asks) if (ask.pet !== undefined) this.unanswered.add(ask.pet);
    for (const [i, ask] of asks.entries()) {
      if (ask.then === 'leave') return false;
      try {
        const answer = await finalAnswer(connection, ask.isHead);
        this.answered++;
        this.judge(ask, answer);
        if (answer.header('Connection') === 'close') return false;
      } catch (error) {
        const wasEnded = this.endsEarly && asks[i - 1]?.isEarly && connection.rest === '';
        if (!wasEnded) this.problems.push(`${ask.text.slice(0, 200)}: ${(error as Error).message}`);
        return false;
      }
    }
    return last < 0 && !(this.endsEarly && asks.at(-1)?.isEarly);
  }

  private judge({ text, statuses, isRight, pet }: Ask, answer: WireAnswer): void {
    const { status, body } = answer;
    // HAProxy's own, as when the service answers and ends its connection while the body is still on its way; a loss would be its 502.
    if (status === 400 && answer.header('X-Request-Id') === undefined) return;
    const isItsOwn = answer.header('X-Request-Id') === /X-Request-Id: (.*)\r/.exec(text)?.[1];
    if (!isItsOwn || !statuses.includes(status) || isRight?.(answer) === false) {
      this.problems.push(`${text.slice(0, 200)} was answered with ${status} ${body.slice(0, 200)}`);
    }
    if (pet === undefined || status !== 201) return;
    this.unanswered.delete(pet);
    this.added.set(pet, body);
    this.known = body;
  }

  private async open(): Promise<Connection> {
    const connection = await Connection.open(this.port);
    connection.socket.setTimeout(PATIENCE, () => connection.destroy());
    return connection;
  }
}

/** The next answer that is none of 1xx. */
async function finalAnswer(connection: Connection, isHead?: boolean): Promise<WireAnswer> {
  for (;;) {
    const answer = await connection.answer(isHead);
    if (answer.status >= 200) return answer;
  }
}

describeBehind('clients of $name', PROXIES, (kind) => {
  let folder: WorkingFolder;
  let port: number;
  let proxy: ReverseProxy;

  beforeEach(async () => {
    folder = new WorkingFolder(buildProgram());
    port = await freePort();
    proxy = await ReverseProxy.start(kind, [port]);
  }, 60_000);

  afterEach(async () => {
    await proxy.remove();
    await folder.remove();
  });

  it.each([1, 2])(
    'get the answers to their own requests from %i processes, and each pet is there once',
    async (workers) => {
      const service = await startReady(folder, port, {
        NODE_ENV: 'production',
        LOG_LEVEL: 'error',
        API_KEYS: KEY,
        WEB_CONCURRENCY: String(workers),
      });
      const clients = new Clients(proxy.port, kind === UNBUFFERED);
      await clients.send(CLIENTS, SECONDS);
      const { problems, added, unanswered, answered } = clients;
      const stored = await storedPets(port, KEY);
      process.stdout.write(
        `proxies test: ${kind.name}, ${workers} processes: ${answered} answers, ${added.size} pets added, ` +
          `${stored.length} there, ${problems.length} problems\n`,
      );
      expect(problems).toEqual([]);
      expect(service.log).not.toContain('"level":"error"');
      const texts = new Set(stored);
      const names = stored.map((text) => /"name":"([^"]*)"/.exec(text)?.[1] as string);
      expect([...added.values()].filter((text) => !texts.has(text))).toEqual([]);
      expect(new Set(names).size).toBe(names.length);
      expect(names.filter((name) => !added.has(name) && !unanswered.has(name))).toEqual([]);
      expect(await service.end('SIGTERM')).toBe(0);
    },
    60_000 + SECONDS * 2_000,
  );
});
