import { describe, expect, it, jest } from '@jest/globals';
import { execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  constants,
  cpSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { Agent, request } from 'node:http';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { join } from 'node:path';
import Libsql from 'libsql';
import { freshFolder } from '../support/fresh-folder.js';
import { RunningService, WorkingFolder } from '../support/working-folder.js';

// Each service is three processes, which take their time if many run at once.
jest.setTimeout(120_000);

const KEY = 'key-of-the-workers-test';
const BELLA = '{"name":"Bella","categoryId":42}';

/** Within what time a condition must hold, in milliseconds. */
const PATIENCE = 30_000;

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Ask {
  readonly body?: string;
  readonly headers?: Record<string, string>;
  /** If absent, the request has a connection of its own, and so another worker than the one before. */
  readonly agent?: Agent;
  /** Is called once the request is handed to the connection. */
  readonly sent?: () => void;
}

const folder = freshFolder();

const PRODUCTION = { NODE_ENV: 'production', WEB_CONCURRENCY: '2', API_KEYS: KEY };

function ask(
  service: { readonly address: string },
  path: string,
  { body, headers, agent, sent }: Ask = {},
  key = KEY,
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asking = request(
      service.address + path,
      {
        method: body === undefined ? 'GET' : 'POST',
        headers: { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json', ...headers },
        agent: agent ?? false,
      },
      (answer) => {
        let text = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
        answer.on('end', () => resolve({ status: answer.statusCode as number, text })).on('error', reject);
      },
    );
    if (sent) asking.on('finish', sent);
    asking.on('error', reject).setTimeout(PATIENCE, () => asking.destroy(new Error('There is no answer.')));
    asking.end(body);
  });
}

const add = (service: RunningService, headers: Record<string, string> = {}) =>
  ask(service, '/pets', { body: BELLA, headers });

/** So many of these at once. */
const times = <T>(count: number, act: (index: number) => Promise<T>): Promise<T[]> =>
  Promise.all(Array.from({ length: count }, (_, index) => act(index)));

/** Asks again and again until the condition holds. */
async function until(condition: () => boolean | Promise<boolean>, pause = 20): Promise<void> {
  const end = Date.now() + PATIENCE;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`It did not come about: ${condition.toString()}`);
    await new Promise((resolve) => setTimeout(resolve, pause));
  }
}

const stateOf = (path: string): string | undefined =>
  /^State:\s+(\w)/m.exec(readFileSync(`${path}/status`, 'utf8'))?.[1];

function lives(pid: number): boolean {
  try {
    return stateOf(`/proc/${pid}`) !== 'Z';
  } catch {
    return false;
  }
}

/** Whether each thread of a process sleeps: it has nothing to do, and so has read all that was sent to it, signals too. */
const sleeps = (pid: number): boolean =>
  readdirSync(`/proc/${pid}/task`).every((thread) => stateOf(`/proc/${pid}/task/${thread}`) === 'S');

/** Halts a process once it sleeps; resolves once it stands still. */
async function halt(pid: number): Promise<void> {
  await until(() => sleeps(pid));
  process.kill(pid, 'SIGSTOP');
  await until(() => stateOf(`/proc/${pid}`) === 'T');
}

const socketsOf = (pid: number): number =>
  readdirSync(`/proc/${pid}/fd`).filter((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`).startsWith('socket:');
    } catch {
      return false;
    }
  }).length;

const memoryOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);

/** Holds the database, so that what is to be written has to wait until it is let go. */
function holdDatabase(): () => void {
  const holder = new Libsql(join(folder().path, 'data/petstore.sqlite'));
  holder.exec('BEGIN IMMEDIATE');
  return () => {
    holder.exec('ROLLBACK');
    holder.close();
  };
}

/** Sends a pet to each of the two workers, over connections that are kept; resolves once both are under way. */
async function addToEach(service: RunningService): Promise<Promise<Answer | string>[]> {
  const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
  // A connection belongs to a worker for good; the two, one after the other, to one each.
  for (const agent of agents) await ask(service, '/pets', { agent });
  const sockets = service.workers.map(socketsOf);
  expect(Math.abs((sockets[0] as number) - (sockets[1] as number))).toBeLessThanOrEqual(1);
  const answers: Promise<Answer | string>[] = [];
  for (const agent of agents) {
    await new Promise<void>((sent) => {
      const answer = ask(service, '/pets', { body: BELLA, agent, sent }).catch((error: Error) => error.message);
      answers.push(answer.finally(() => agent.destroy()));
    });
  }
  // They have been read by the time that each worker has answered another request.
  for (let i = 0; i < 4; i++) await ask(service, '/pets');
  return answers;
}

/** After what pauses workers were replaced, in seconds. */
const pausesOf = (service: RunningService): (string | undefined)[] =>
  [...service.log.matchAll(/A worker .* and is replaced in ([\d.]+) s/g)].map(([, pause]) => pause);

const isOpen = (service: RunningService): Promise<boolean> =>
  ask(service, '/pets').then(
    () => true,
    () => false,
  );

/** Resolves once each of two workers has taken one of two connections. */
async function untilTwoServe(service: RunningService): Promise<void> {
  await until(async () => {
    const before = service.workers.map(socketsOf);
    const agents = [new Agent({ keepAlive: true }), new Agent({ keepAlive: true })];
    const answers = agents.map((agent) => ask(service, '/pets', { agent }).catch(() => undefined));
    const served = (await Promise.all(answers)).every((answer) => answer?.status === 200);
    const taken = service.workers.map((pid, i) => socketsOf(pid) - (before[i] ?? 0));
    for (const agent of agents) agent.destroy();
    return served && taken.length === 2 && taken.every((sockets) => sockets === 1);
  });
}

describe('a service of several workers', () => {
  it('greets once, when all of them serve, and with a key that all of them take', async () => {
    const service = await folder().serve({ WEB_CONCURRENCY: '3' });
    expect(service.workers).toHaveLength(3);
    expect(service.log).toMatch(/^The pet store is open at \S+\nDocs: .*\nKey: .*\nKeep: .*\nTry: .*\n$/);
    const before = service.workers.map(socketsOf);
    const agents = Array.from({ length: 6 }, () => new Agent({ keepAlive: true }));
    for (const agent of agents) {
      expect(await ask(service, '/pets', { agent }, service.key)).toEqual({ status: 200, text: '[]' });
    }
    expect(service.workers.map((pid, i) => socketsOf(pid) - (before[i] as number))).toEqual([2, 2, 2]);
    for (const agent of agents) agent.destroy();
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.log.match(/open at/g)).toHaveLength(1);

    const second = await folder().serve({ WEB_CONCURRENCY: '2' });
    expect(second.log).toMatch(/^The pet store is open at \S+\nDocs: .*\nKeys: .*\n$/);
  });

  it('has a primary that loads nothing of the service', async () => {
    const service = await folder().serve(PRODUCTION);
    const addons = [service.pid, ...service.workers].map((pid) => readFileSync(`/proc/${pid}/maps`, 'utf8'));
    expect(addons.map((maps) => maps.includes('libsql'))).toEqual([false, true, true]);
    const [primary = 0, ...workers] = [service.pid, ...service.workers].map(memoryOf);
    for (const worker of workers) expect(primary).toBeLessThan(worker * 0.75);
  });

  it('says once what is wrong with a database, and ends with 1', async () => {
    const { code, out, err } = await folder().run(['serve'], {
      ...PRODUCTION,
      PORT: '0',
      DATABASE_URL: `sqlite:${folder().path}`,
    });
    expect(code).toBe(1);
    expect(out).toBe('');
    expect(err).toMatch(/^DATABASE_URL must be .*\n$/);
  });

  it('says once that a port is taken, and ends with 1', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as { port: number };
    for (const name of ['PORT', 'METRICS_PORT']) {
      const variables = { ...PRODUCTION, LOG_LEVEL: 'silent', PORT: '0', [name]: String(port) };
      const { code, out, err } = await folder().run(['serve'], variables);
      expect({ code, out }).toEqual({ code: 1, out: '' });
      expect(err).toMatch(new RegExp(`^${name} must be a free port; .* port ${port} of "127.0.0.1"\\. .*\n$`));
    }
    taken.close();
  });

  it('writes as one process does: every id once, each pet in the lists at once, and twins as one pet', async () => {
    const service = await folder().serve(PRODUCTION);
    const ids: number[] = [];
    await times(8, async () => {
      for (let i = 0; i < 25; i++) {
        const { status, text } = await add(service);
        expect([status, text]).toEqual([201, expect.any(String)]);
        ids.push((JSON.parse(text) as { id: number }).id);
        expect((await ask(service, '/pets?limit=100')).text).toContain(text);
      }
    });
    expect(new Set(ids).size).toBe(200);
    for (let i = 0; i < 10; i++) {
      const twins = await times(6, () => add(service, { 'Idempotency-Key': `twin-${i}` }));
      for (const { status } of twins) expect([201, 409]).toContain(status);
      const animals = new Set(twins.filter(({ status }) => status === 201).map(({ text }) => text));
      expect(animals.size).toBe(1);
    }
    const newest = JSON.parse((await ask(service, '/pets?limit=1')).text) as { id: number }[];
    expect(newest[0]?.id).toBe(210);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('takes a key that was revoked no more on any of them, and adds its calls up', async () => {
    const service = await folder().serve(PRODUCTION);
    const key = (await folder().run(['keys', 'create', '--name', 'shop', '--quiet'])).out.trim();
    await add(service);
    const statuses = async () =>
      new Set((await times(8, () => ask(service, '/pets/1', {}, key))).map(({ status }) => status));
    expect(await statuses()).toEqual(new Set([200]));
    await folder().run(['keys', 'revoke', 'shop']);
    expect(await statuses()).toEqual(new Set([401]));
    expect(await service.end('SIGTERM')).toBe(0);
    expect((await folder().run(['keys', 'callers'])).out).toMatch(/^shop +8 /m);
  });
});

describe('a service of several workers that is told to stop', () => {
  it.each([
    ['SIGTERM to the primary', (service: RunningService) => [service.pid]],
    ['SIGTERM to all, and twice', (service: RunningService) => [service.pid, ...service.workers, service.pid]],
  ])('by %s, finishes what is under way on each, and exits with 0', async (_how, pids) => {
    const service = await folder().serve(PRODUCTION);
    const { workers } = service;
    const release = holdDatabase();
    const answers = await addToEach(service);
    for (const pid of pids(service)) process.kill(pid, 'SIGTERM');
    await until(async () => !(await isOpen(service)));
    expect(workers.filter(lives)).toEqual(workers);
    release();
    expect(await Promise.all(answers)).toMatchObject([{ status: 201 }, { status: 201 }]);
    expect(await service.ended()).toBe(0);
    expect(workers.filter(lives)).toEqual([]);
    // The log is flushed: the creates are in it, and no worker was replaced.
    expect(service.log.match(/"status":201/g)).toHaveLength(2);
    expect(service.log).not.toContain('replaced');
  });

  it('loses nothing of a worker that is stopped by itself: what is under way, nor what is on its way to it', async () => {
    const service = await folder().serve({ ...PRODUCTION, POOL_TIMEOUT: '30000', STOP_TIMEOUT: '60000' });
    const release = holdDatabase();
    const answers = await addToEach(service);
    await halt(service.pid);
    const onTheirWay: Promise<Answer>[] = [];
    for (let i = 0; i < 4; i++) {
      await new Promise<void>((sent) => onTheirWay.push(ask(service, '/pets', { sent })));
    }
    process.kill(service.workers[0] as number, 'SIGTERM');
    process.kill(service.pid, 'SIGCONT');
    for (const answer of await Promise.all(onTheirWay)) expect(answer).toMatchObject({ status: 200 });
    release();
    expect(await Promise.all(answers)).toMatchObject([{ status: 201 }, { status: 201 }]);
    await until(() => service.log.includes('A worker ended (exit code 0) and is replaced'));
    await untilTwoServe(service);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('exits with 1 if what is under way is not finished in time', async () => {
    const service = await folder().serve({ ...PRODUCTION, STOP_TIMEOUT: '200' });
    const { workers } = service;
    const release = holdDatabase();
    const answers = await addToEach(service);
    expect(await service.end('SIGTERM')).toBe(1);
    release();
    for (const answer of await Promise.all(answers)) expect(answer).toEqual(expect.any(String));
    expect(workers.filter(lives)).toEqual([]);
  });

  it('exits with 1 at once on a second signal', async () => {
    const service = await folder().serve({ ...PRODUCTION, STOP_TIMEOUT: '60000' });
    const { workers } = service;
    const release = holdDatabase();
    const answers = await addToEach(service);
    process.kill(service.pid, 'SIGINT');
    await until(async () => !(await isOpen(service)));
    // Within half a second it would be taken for the same signal, passed on by npm.
    const insist = setInterval(() => lives(service.pid) && process.kill(service.pid, 'SIGINT'), 100);
    expect(await service.ended()).toBe(1);
    clearInterval(insist);
    release();
    for (const answer of await Promise.all(answers)) expect(answer).toEqual(expect.any(String));
    await until(() => !workers.some(lives));
  });

  it.each([1, 3])('exits with 0 while there are %i that still start', async (started) => {
    const service = folder().start({ ...PRODUCTION, WEB_CONCURRENCY: '3' });
    await until(() => service.workers.length === started);
    const { workers } = service;
    expect(await service.end('SIGTERM')).toBe(0);
    expect(workers.filter(lives)).toEqual([]);
    expect(service.log).not.toContain('store is open');
  });
});

describe('a worker that ends', () => {
  it('is replaced, and what it acknowledged is there', async () => {
    const service = await folder().serve(PRODUCTION);
    const first = service.workers;
    const acknowledged: string[] = [];
    for (const victim of first) {
      let enough = 40;
      await times(8, async () => {
        while (enough > 0) {
          const { status, text } = await add(service).catch((error: Error) => ({ status: 0, text: error.message }));
          if (status === 201) acknowledged.push(text);
          // An answer may be lost with the worker, but nobody waits for it in vain.
          else expect(text).toMatch(/ECONNRESET|hang up/);
          if (--enough === 20) process.kill(victim, 'SIGKILL');
        }
      });
      await untilTwoServe(service);
      expect(service.workers).not.toContain(victim);
    }
    expect(service.workers.filter((pid) => first.includes(pid))).toEqual([]);
    for (const text of acknowledged) {
      const { id } = JSON.parse(text) as { id: number };
      expect(await ask(service, `/pets/${id}`)).toEqual({ status: 200, text });
    }
    expect(await service.end('SIGTERM')).toBe(0);
    expect(service.log.match(/"level":"warn".*A worker ended \(SIGKILL\) and is replaced/g)).toHaveLength(2);
    expect(service.log.match(/store is open/g)).toHaveLength(1);
  });

  it('leaves the port as it is where it was the last one', async () => {
    const service = await folder().serve(PRODUCTION);
    const { workers } = service;
    for (const pid of workers) process.kill(pid, 'SIGKILL');
    await until(() => !workers.some(lives));
    await untilTwoServe(service);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('is tried again, ever more slowly, if the next one does not come so far', async () => {
    const service = await folder().serve(PRODUCTION);
    const file = new Libsql(join(folder().path, 'data/petstore.sqlite'));
    file.exec(`INSERT INTO migrations (timestamp, name) VALUES (1900000000000, 'AddOwner1900000000000')`);
    process.kill(service.workers[0] as number, 'SIGKILL');
    await until(() => pausesOf(service).length === 4);
    expect(pausesOf(service)).toEqual(['0.1', '0.2', '0.4', '0.8']);
    expect((await ask(service, '/pets')).status).toBe(200);
    file.exec(`DELETE FROM migrations WHERE name = 'AddOwner1900000000000'`);
    file.close();
    await untilTwoServe(service);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('is tried again if the program is not there for a moment', async () => {
    const { program } = folder();
    const copy = `${program}-${process.pid}`;
    cpSync(program, copy, { recursive: true });
    const elsewhere = new WorkingFolder(copy);
    try {
      const service = await elsewhere.serve({ ...PRODUCTION, WEB_CONCURRENCY: '2' });
      renameSync(join(copy, 'src'), join(copy, 'away'));
      for (const pid of service.workers) process.kill(pid, 'SIGKILL');
      await until(() => pausesOf(service).length >= 6);
      renameSync(join(copy, 'away'), join(copy, 'src'));
      await untilTwoServe(service);
      expect(await service.end('SIGTERM')).toBe(0);
    } finally {
      await elsewhere.remove();
      rmSync(copy, { recursive: true });
    }
  });

  it.each([
    // Of this Node tells by an event.
    ['has no descriptors left to start one', 'EMFILE', '--nofile', '3', '1024'],
    // And this it throws; the environment may take a quarter of the stack.
    ['has a larger environment than it may hand on', 'E2BIG', '--stack', '1048576', '8388608'],
  ])('is tried again if the primary %s', async (_what, error, limit, low, high) => {
    const filler = 'x'.repeat(100_000);
    const service = await folder().serve({ ...PRODUCTION, FILLER_1: filler, FILLER_2: filler, FILLER_3: filler });
    const setLimit = (most: string) => execFileSync('prlimit', ['--pid', String(service.pid), `${limit}=${most}:`]);
    setLimit(low);
    process.kill(service.workers[0] as number, 'SIGKILL');
    await until(() => pausesOf(service).length === 4);
    const notStarted = new RegExp(
      `"level":"warn".*A worker could not be started \\(.*${error}\\) and is replaced`,
      'g',
    );
    expect(service.log.match(notStarted)).toHaveLength(3);
    expect(pausesOf(service)).toEqual(['0.1', '0.2', '0.4', '0.8']);
    setLimit(high);
    await untilTwoServe(service);
    expect(await service.end('SIGTERM')).toBe(0);
  });

  it('ends in order if the primary was killed', async () => {
    const service = await folder().serve(PRODUCTION);
    const { workers } = service;
    const release = holdDatabase();
    const answers = await addToEach(service);
    process.kill(service.pid, 'SIGKILL');
    await until(async () => !(await isOpen(service)));
    release();
    expect(await Promise.all(answers)).toMatchObject([{ status: 201 }, { status: 201 }]);
    expect(await service.ended()).toBeNull();
    // The output of a process is closed a moment before it has ended.
    await until(() => !workers.some(lives));
  });
});

describe('the metrics of several workers', () => {
  it('are added up, and go on without one that has ended', async () => {
    const free = createServer().listen(0, '127.0.0.1');
    await once(free, 'listening');
    const { port } = free.address() as { port: number };
    free.close();
    await once(free, 'close');
    const service = await folder().serve({ ...PRODUCTION, METRICS_PORT: String(port) });
    const read = async () => (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    await times(4, () => add(service));
    await times(6, () => ask(service, '/pets/1'));
    const labels = 'operation="getPet",status="200"';
    const [text] = await times(20, read);
    expect(service.log).not.toContain('Warning');
    expect(text).toContain('petstore_request_duration_seconds_count{operation="createPet",status="201"} 4\n');
    expect(text).toContain(`petstore_request_duration_seconds_count{${labels}} 6\n`);
    expect(text).toContain(`petstore_request_duration_seconds_bucket{le="+Inf",${labels}} 6\n`);
    expect(text).toContain('petstore_commit_animals_sum 4\n');
    expect(text).toContain('petstore_deprecated_calls_total{operation="getPet",key="configured-1"} 6\n');
    expect(text).toMatch(/^petstore_build_info\{version="[^"]+"\} 1$/m);
    expect(text).toMatch(/^nodejs_eventloop_lag_p99_seconds \d/m);
    expect(text?.match(/^# TYPE petstore_request_duration_seconds histogram$/gm)).toHaveLength(1);
    const resident = Number(/^process_resident_memory_bytes (\d+)/m.exec(text as string)?.[1]);
    expect(resident).toBeGreaterThan(1.5 * 1024 * memoryOf(service.workers[0] as number));
    process.kill(service.workers[0] as number, 'SIGKILL');
    expect(await read()).toMatch(/^petstore_request_duration_seconds_count\{.*\} [1-6]$/m);
    // A stop before its end is noticed would take it for one that did not stop in order.
    await until(() => service.log.includes('is replaced'));
    expect(await service.end('SIGTERM')).toBe(0);
  });
});

describe('the log of several workers', () => {
  it.each([
    ['JSON', PRODUCTION, /^\{"level":"\w+".*"ms":[\d.]+,"key":"configured-1"\}$/],
    ['text', { ...PRODUCTION, NODE_ENV: '' }, /^\d\d:\d\d:\d\d\.\d{3} INFO {2}request=\S+ .* key=configured-1$/],
  ])('is whole lines of %s in a pipe, however slow its reader is', async (_form, variables, line) => {
    // Node's own "pipe" is a pair of sockets.
    const pipe = join(folder().path, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const input = openSync(pipe, 'r+');
    const output = openSync(pipe, constants.O_RDONLY | constants.O_NONBLOCK);
    const service = spawn(process.execPath, [join(folder().program, 'src/main.js')], {
      cwd: folder().path,
      env: { ...variables, PORT: '0', LOG_LEVEL: 'info' },
      stdio: ['ignore', input, 'inherit'],
    });
    const exit = once(service, 'exit');
    let text = '';
    try {
      await until(() => {
        text += readSome(output);
        return /open\."\}\n|^Keys: .*\n/m.test(text);
      });
      const address = /(?:open at |"address":")([^\s"]+)/.exec(text)?.[1] as string;
      await times(8, async () => {
        const agent = new Agent({ keepAlive: true });
        for (let i = 0; i < 600; i++) expect((await ask({ address }, '/pets', { agent })).status).toBe(200);
        agent.destroy();
      });
      // By now the pipe is full, and each worker has more lines than fit into it.
      service.kill('SIGTERM');
      await until(() => {
        text += readSome(output);
        return service.exitCode !== null;
      }, 1);
      expect(await exit).toEqual([0, null]);
      text += readSome(output, 2 ** 20);
    } finally {
      service.kill('SIGKILL');
      closeSync(input);
      closeSync(output);
    }
    const lines = text.trimEnd().split('\n');
    const others = lines.filter(
      (each) => !/^(The pet store is open at|Docs:|Keys:) |"The pet store is \w+\."\}$/.test(each),
    );
    for (const each of others) expect(each).toMatch(line);
    expect(others).toHaveLength(4_800);
  });
});

/** What is in the pipe, up to so many bytes. */
function readSome(pipe: number, most = 3_000): string {
  const buffer = Buffer.alloc(most);
  try {
    return buffer.toString('latin1', 0, readSync(pipe, buffer));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return '';
    throw error;
  }
}
