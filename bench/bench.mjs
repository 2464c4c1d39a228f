// Measures the built service beside a bare node:http server over the same data, in turns. `npm run bench -- --help` says how.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import Libsql from 'libsql';

const { values: options } = parseArgs({
  options: {
    animals: { type: 'string', default: '100000' },
    connections: { type: 'string', default: '32' },
    rounds: { type: 'string', default: '3' },
    seconds: { type: 'string', default: '4' },
    help: { type: 'boolean' },
  },
});
if (options.help) {
  console.log('npm run bench -- [--animals 100000] [--connections 32] [--rounds 3] [--seconds 4]');
  process.exit();
}
const animals = Number(options.animals);
const KEY = 'key-of-the-benchmark';
const headers = { authorization: `Bearer ${KEY}` };
const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
const data = join(folder, 'data.sqlite');

/** The server has the first processor to itself where there are two, and the load the second. */
const pinned = cpus().length > 1 && hasTaskset();
if (pinned) execFileSync('taskset', ['-cp', '1', String(process.pid)], { stdio: 'ignore' });

const targets = [
  {
    name: 'this service',
    command: ['dist/src/main.js'],
    variables: (file) => ({ DATABASE_URL: `sqlite:${file}`, API_KEYS: KEY, METRICS_PORT: '0' }),
  },
  { name: 'node:http', command: ['bench/baseline.mjs'], variables: (file) => ({ FILE: file, API_KEY: KEY }) },
];

/** The same build, which commits each animal by itself. */
const oneCommitEach = {
  ...targets[0],
  name: 'one commit each',
  command: ['--import', './bench/one-commit-each.mjs', 'dist/src/main.js'],
};

const loads = [
  {
    name: 'GET /v1/pets?limit=20',
    requests: [{ path: '/v1/pets?limit=20' }],
    check: (body) => JSON.parse(body).length === 20,
  },
  {
    name: 'GET /v1/pets?limit=100&status=available',
    requests: [{ path: '/v1/pets?limit=100&status=available' }],
    check: (body) => JSON.parse(body).length === 100 && JSON.parse(body).every(({ status }) => status === 'available'),
  },
  {
    name: 'GET /v1/pets/{petId}',
    // Ids in no order, the same for both.
    requests: Array.from({ length: 1_000 }, (_, i) => ({ path: `/v1/pets/${1 + ((i * 7_919) % animals)}` })),
    check: (body) => JSON.parse(body).name.startsWith('Animal '),
  },
  {
    name: 'POST /v1/pets',
    requests: [
      {
        path: '/v1/pets',
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: '{"name":"Bella","categoryId":42}',
      },
    ],
    status: 201,
    check: (body) => JSON.parse(body).id > animals,
  },
];

function hasTaskset() {
  try {
    execFileSync('taskset', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** Starts a target on a copy of the data, and resolves once it answers: with the milliseconds that took, and its idle memory. */
async function start(target) {
  const file = join(folder, `${target.name.replace(/\W/g, '-')}.sqlite`);
  for (const suffix of ['', '-wal', '-shm']) rmSync(file + suffix, { force: true });
  copyFileSync(data, file);
  const port = await freePort();
  const command = [...(pinned ? ['taskset', '-c', '0'] : []), process.execPath, ...target.command];
  const env = {
    ...process.env,
    NODE_ENV: 'production',
    HOST: '127.0.0.1',
    PORT: String(port),
    ...target.variables(file),
  };
  const began = performance.now();
  const child = spawn(command[0], command.slice(1), { env, stdio: ['ignore', 'ignore', 'inherit'] });
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${target.name} ended before it answered.`);
    const answer = await fetch(`http://127.0.0.1:${port}/v1/pets?limit=1`, { headers }).catch(() => undefined);
    if (answer?.status === 200) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  Object.assign(target, { child, port, started: performance.now() - began });
  await new Promise((resolve) => setTimeout(resolve, 500));
  target.idle = memory(target);
}

async function stop({ child }) {
  child.kill('SIGTERM');
  await once(child, 'exit');
}

/** The resident memory of a target in megabytes, where the system tells. */
function memory({ child }) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;
  } catch {
    return NaN;
  }
}

/** Drives a target for so many seconds; every answer must have the right status, and one of them is read. */
async function drive({ name, port }, load, connections, seconds) {
  const url = `http://127.0.0.1:${port}`;
  const [first] = load.requests;
  const sample = await fetch(url + first.path, {
    method: first.method ?? 'GET',
    headers: first.headers ?? headers,
    body: first.body,
  });
  const body = await sample.text();
  if (sample.status !== (load.status ?? 200) || !load.check(body))
    throw new Error(`${name} answers ${load.name} with ${sample.status} ${body.slice(0, 200)}`);
  const result = await autocannon({
    url,
    connections,
    duration: seconds,
    requests: load.requests,
    headers,
    timeout: 20,
  });
  const wrong = Object.entries(result.statusCodeStats).filter(([status]) => Number(status) !== (load.status ?? 200));
  if (result.errors > 0 || wrong.length > 0)
    throw new Error(`${name} answers ${load.name} wrongly: ${JSON.stringify(wrong)}, ${result.errors} errors`);
  return { rate: result.requests.total / result.duration, p99: result.latency.p99 };
}

/** Drives two targets in turns, and resolves to a row of a table: medians of both, and the ratio of the first to the second. */
async function compare(load, connections, [first, second]) {
  const runs = new Map([
    [first, []],
    [second, []],
  ]);
  for (const target of runs.keys()) await drive(target, load, connections, 1);
  for (let round = 0; round < Number(options.rounds); round++) {
    for (const [target, results] of runs) results.push(await drive(target, load, connections, Number(options.seconds)));
  }
  const rate = (target) => median(runs.get(target).map((run) => run.rate));
  const p99 = (target) => median(runs.get(target).map((run) => run.p99));
  const cells = [first, second].flatMap((target) => [rate(target).toFixed(0), p99(target)]);
  return `| ${[load.name, ...cells, (rate(first) / rate(second)).toFixed(2)].join(' | ')} |`;
}

function fill() {
  // The service makes its tables itself; the rows go in directly, because only reading and single creates are measured.
  execFileSync(process.execPath, ['dist/src/main.js', 'migrate', 'run'], {
    env: { ...process.env, DATABASE_URL: `sqlite:${data}` },
  });
  const database = new Libsql(data);
  const insert = database.prepare('INSERT INTO pet (name, category_id, status) VALUES (?, ?, ?)');
  const statuses = ['available', 'pending', 'sold'];
  database.exec('BEGIN');
  for (let i = 1; i <= animals; i++) insert.run(`Animal ${i}`, 1 + (i % 500), statuses[(i * 7) % 3]);
  database.exec('COMMIT');
  database.exec('ANALYZE');
  database.pragma('wal_checkpoint(TRUNCATE)');
  database.close();
}

try {
  fill();
  for (const target of targets) {
    const starts = [];
    for (let i = 0; i < 3; i++) {
      await start(target);
      starts.push(target.started);
      if (i < 2) await stop(target);
    }
    target.started = median(starts);
  }
  console.log(
    `Node ${process.version}, ${cpus()[0].model}, ${animals} animals, ${options.connections} connections, ${options.rounds} rounds of ${options.seconds} s\n`,
  );
  console.log(
    '| request | this service, per second | p99 ms | node:http, per second | p99 ms | ratio |\n|---|---|---|---|---|---|',
  );
  for (const load of loads) console.log(await compare(load, Number(options.connections), targets));
  console.log('\n| | start to first 200, ms | memory idle, MB | after the load, MB |\n|---|---|---|---|');
  for (const target of targets) {
    console.log(
      `| ${target.name} | ${target.started.toFixed(0)} | ${target.idle.toFixed(0)} | ${memory(target).toFixed(0)} |`,
    );
  }
  await start(oneCommitEach);
  console.log('\n| connections | creates, per second | p99 ms | with one commit each, per second | p99 ms | ratio |');
  console.log('|---|---|---|---|---|---|');
  for (const connections of [1, Number(options.connections)]) {
    const load = { ...loads.at(-1), name: String(connections) };
    console.log(await compare(load, connections, [targets[0], oneCommitEach]));
  }
} finally {
  for (const target of [...targets, oneCommitEach]) if (target.child?.exitCode === null) await stop(target);
  rmSync(folder, { recursive: true, force: true });
}
