// What the benchmarks share: data, targets, load and figures.
import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { copyFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { cpus, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import autocannon from 'autocannon';
import mysql from 'mysql2/promise';
import pg from 'pg';
import { DataSource } from 'typeorm';
import { dataSourceOptions } from '../dist/modules/src/adapters/persistence/typeorm/data-source.js';
import { databaseUrl } from '../dist/modules/src/settings/database-url.js';

export const KEY = 'key-of-the-benchmark';
export const headers = { authorization: `Bearer ${KEY}` };

/** The options of the command line, by their defaults: numbers, or texts, such as the URL of a database, which may be left out. */
export function options(defaults) {
  const entries = Object.entries(defaults);
  const texts = Object.fromEntries(entries.map(([name, value]) => [name, { type: 'string', default: String(value) }]));
  const { values } = parseArgs({ options: { ...texts, help: { type: 'boolean' } } });
  if (values.help) {
    console.log(
      entries.map(([name, value]) => `[--${name} ${value || (name === 'chart' ? 'FILE.svg' : 'URL')}]`).join(' '),
    );
    process.exit();
  }
  return Object.fromEntries(
    entries.map(([name, value]) => [name, typeof value === 'number' ? Number(values[name]) : values[name]]),
  );
}

/** What is to be removed at the end, in turn from the last one. */
const leftovers = [];

/** Runs a benchmark, and leaves nothing of it behind. */
export async function bench(run) {
  try {
    await run();
  } finally {
    for (const remove of leftovers.reverse()) await remove();
  }
}

/** Gives the servers the first processor to themselves if there are two, and the load the second. */
export function pin() {
  if (cpus().length < 2 || !hasTaskset()) return [];
  execFileSync('taskset', ['-cp', '1', String(process.pid)], { stdio: 'ignore' });
  return ['taskset', '-c', '0'];
}

function hasTaskset() {
  try {
    execFileSync('taskset', ['-V'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** A database of its own on a server, by the `DATABASE_URL` of any other one there. */
export async function serverDatabase(server) {
  const name = `petstore_bench_${process.pid}_${leftovers.length}`;
  const say = server.startsWith('postgres') ? sayToPostgres : sayToMariadb;
  await say(server, `CREATE DATABASE ${name}`);
  leftovers.push(() => say(server, `DROP DATABASE ${name}${say === sayToPostgres ? ' WITH (FORCE)' : ''}`));
  const url = new URL(server);
  url.pathname = `/${name}`;
  return url.href;
}

async function sayToPostgres(server, sql) {
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  await client.query(sql);
  await client.end();
}

async function sayToMariadb(server, sql) {
  const connection = await mysql.createConnection(server.replace('mariadb:', 'mysql:'));
  await connection.query(sql);
  await connection.end();
}

/** A new file for a SQLite database. */
export function sqliteDatabase() {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-bench-'));
  leftovers.push(() => rmSync(folder, { recursive: true, force: true }));
  return `sqlite:${join(folder, 'petstore.sqlite')}`;
}

/** A copy of a SQLite database that nobody has open. */
export function copyOf(url) {
  const copy = sqliteDatabase();
  copyFileSync(url.replace('sqlite:', ''), copy.replace('sqlite:', ''));
  return copy;
}

/** Makes the tables, by the service itself, and so many pets, a third of each status, directly. */
export async function fill(url, animals) {
  execFileSync(process.execPath, ['dist/src/main.js', 'migrate'], {
    env: { ...process.env, DATABASE_URL: url },
  });
  const source = await new DataSource(dataSourceOptions(databaseUrl('DATABASE_URL', url))).initialize();
  const isMariadb = url.startsWith('mariadb:');
  await source.query(`INSERT INTO pet (name, category_id, status)
    ${isMariadb ? '' : `WITH RECURSIVE animal (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM animal WHERE i < ${animals})`}
    SELECT ${isMariadb ? "CONCAT('Animal ', i)" : "'Animal ' || i"}, 1 + i % 500,
      CASE i % 3 WHEN 0 THEN 'available' WHEN 1 THEN 'pending' ELSE 'sold' END
    FROM ${isMariadb ? `(SELECT seq AS i FROM seq_1_to_${animals}) AS` : ''} animal`);
  await source.query(url.startsWith('sqlite:') ? 'ANALYZE' : isMariadb ? 'ANALYZE TABLE pet' : 'VACUUM ANALYZE');
  if (url.startsWith('sqlite:')) await source.query('PRAGMA wal_checkpoint(TRUNCATE)');
  await source.destroy();
}

/** The service over a database, as in production with its log and metrics on; as it was built, or the command that runs it otherwise. */
export function service(name, url, command = ['dist/src/main.js'], variables = {}) {
  return {
    name,
    command,
    variables: { DATABASE_URL: url, API_KEYS: KEY, METRICS_PORT: '0', ...variables },
  };
}

/** The command that runs the service as it is before it is bundled, changed by what is preloaded. */
export function modules(...preloads) {
  return [...preloads.flatMap((file) => ['--import', file]), 'dist/modules/src/main.js'];
}

/** Starts a server, and resolves once it answers: to where, the milliseconds that took, and its process. */
export async function start({ name, command, variables }, prefix = []) {
  const port = await freePort();
  const [program, ...rest] = [...prefix, process.execPath, ...command];
  const env = { ...process.env, NODE_ENV: 'production', HOST: '127.0.0.1', PORT: String(port), ...variables };
  const began = performance.now();
  const child = spawn(program, rest, { env, stdio: ['ignore', 'ignore', 'inherit'] });
  const target = { name, child, url: `http://127.0.0.1:${port}` };
  leftovers.push(() => stop(target));
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${name} ended before it answered.`);
    const answer = await fetch(`${target.url}/v1/pets?limit=1`, { headers }).catch(() => undefined);
    if (answer?.status === 200) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return Object.assign(target, { started: performance.now() - began });
}

export async function stop({ child }) {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGTERM');
  await once(child, 'exit');
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** The resident memory of a target in megabytes, if the system tells. */
export function memory({ child }) {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))[1]) / 1024;
  } catch {
    return NaN;
  }
}

/** The processor time that a target has taken so far, with the processes that it has started, in microseconds, if the system tells. */
export function processorTime({ child }) {
  try {
    const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').match(/\d+/g) ?? [];
    // In user and in kernel mode, in hundredths of a second; the name before them may hold anything (proc(5)).
    const ticks = [child.pid, ...children].flatMap((pid) =>
      readFileSync(`/proc/${pid}/stat`, 'utf8').replace(/.*\) /s, '').split(' ').slice(11, 13),
    );
    return ticks.reduce((sum, tick) => sum + Number(tick), 0) * 10_000;
  } catch {
    return NaN;
  }
}

/** A load of pages at these paths, in turn, each of so many pets; with `changes`, something else is written meanwhile. */
export function pages(name, paths, animals, changes = false) {
  return {
    name,
    changes,
    requests: paths.map((path) => ({ path })),
    status: 200,
    check: (body) => JSON.parse(body).length === animals,
  };
}

/** A load of new pets, beside so many that there are. */
export function create(animals) {
  return {
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
  };
}

/** The same, each with an Idempotency-Key of its own. */
export function createOnce(animals) {
  const load = create(animals);
  const setupRequest = (request) => ({
    ...request,
    headers: { ...request.headers, 'idempotency-key': randomUUID() },
  });
  const requests = load.requests.map((request) => ({ ...request, setupRequest }));
  return { ...load, name: 'POST /v1/pets with an Idempotency-Key', requests };
}

/** The URL of the same database behind a proxy that delays what is sent either way, in milliseconds. */
export async function farAway(url, delay = 2) {
  const { hostname, port } = new URL(url);
  const forward = (from, to) => {
    from.on('data', (data) => setTimeout(() => to.writable && to.write(data), delay));
    from.on('error', () => to.destroy());
    from.on('close', () => setTimeout(() => to.destroy(), delay));
  };
  const proxy = createServer({ noDelay: true }, (client) => {
    const server = connect({ host: hostname, port: port || (url.startsWith('postgres') ? 5432 : 3306), noDelay: true });
    forward(client, server);
    forward(server, client);
  }).listen(0, '127.0.0.1');
  await once(proxy, 'listening');
  leftovers.push(() => proxy.close());
  return Object.assign(new URL(url), { hostname: '127.0.0.1', port: proxy.address().port }).href;
}

/** A load of single pets, of so many that there are: a thousand of them in no order, the same for all. */
export function single(animals) {
  const ids = Array.from({ length: 1_000 }, (_, i) => 1 + ((i * 7_919) % animals));
  const asked = new Set(ids);
  const requests = ids.map((id) => ({ path: `/v1/pets/${id}` }));
  const check = (body) => asked.has(JSON.parse(body).id);
  return { name: 'GET /v1/pets/{petId}', requests, status: 200, check };
}

/**
 * Drives each target with the load in turns, or with its own of several loads, and resolves to its medians: requests per second, the
 * 99th percentile of their time in milliseconds, and the processor time of each in microseconds. Every answer must have the status and
 * the body of the load.
 */
export async function measure(targets, load, { rounds, seconds, ...how }) {
  const figures = await inTurns(targets, rounds, (target, i, isFirst) =>
    drive(target, Array.isArray(load) ? load[i] : load, { ...how, duration: isFirst ? 1 : seconds }),
  );
  return figures.map(medians);
}

/** As `measure`, but with several loads at once, which share the connections: resolves to the medians of each load for each target. */
export async function measureTogether(targets, loads, { rounds, seconds, connections }) {
  const share = Math.ceil(connections / loads.length);
  const figures = await inTurns(targets, rounds, (target, _i, isFirst) =>
    Promise.all(loads.map((load) => drive(target, load, { connections: share, duration: isFirst ? 1 : seconds }))),
  );
  return figures.map((results) => loads.map((_load, k) => medians(results.map((result) => result[k]))));
}

/** What came of each target in each round but the first one, which is to warm up. */
async function inTurns(targets, rounds, run) {
  const results = targets.map(() => []);
  for (let round = 0; round <= rounds; round++) {
    for (const [i, target] of targets.entries()) {
      const result = await run(target, i, round === 0);
      if (round > 0) results[i].push(result);
    }
  }
  return results;
}

function medians(results) {
  const of = (figure) => median(results.map((result) => result[figure]));
  return { rate: of('rate'), p99: of('p99'), cost: of('cost') };
}

/** Drives a target with a load once, and resolves to what was seen. */
export async function drive(target, { name: what, requests, status, check, changes = false }, how) {
  const { name, url } = target;
  const [{ path, ...first }] = requests;
  const sample = await fetch(url + path, { headers, ...first });
  const body = await sample.text();
  if (sample.status !== status || !holds(check, body))
    throw new Error(`${name} answers ${what} with ${sample.status} ${body.slice(0, 200)}`);
  const before = processorTime(target);
  // The one page that is asked for stays the same; to read it each time would take the load more time than the service takes to answer.
  const isPage = status === 200 && requests.length === 1 && !changes;
  const verifyBody = (text) => (isPage ? text === body : holds(check, text));
  const result = await autocannon({ url, requests, headers, verifyBody, timeout: 20, ...how });
  const { errors, mismatches, statusCodeStats } = result;
  const wrong = Object.entries(statusCodeStats).filter(([other]) => Number(other) !== status);
  if (errors > 0 || mismatches > 0 || wrong.length > 0)
    throw new Error(
      `${name} answers ${what} wrongly: ${JSON.stringify(wrong)}, ${errors} errors, ${mismatches} bodies`,
    );
  const { total } = result.requests;
  return {
    total,
    rate: total / result.duration,
    p99: result.latency.p99,
    cost: (processorTime(target) - before) / total,
  };
}

/** Whether a body is as it should be; one that is no JSON is not. */
function holds(check, body) {
  try {
    return check(body);
  } catch {
    return false;
  }
}

export function median(values) {
  return [...values].sort((a, b) => a - b)[values.length >> 1];
}

/** Prints the rows of a table as they come, in Markdown. */
export function table(...titles) {
  console.log(`\n${row(titles)}\n${row(titles.map(() => '---'))}`);
  return (...cells) =>
    console.log(row(cells.map((cell) => (typeof cell === 'number' ? cell.toFixed(cell < 10 ? 2 : 0) : cell))));
}

function row(cells) {
  return `| ${cells.join(' | ')} |`;
}

/** What the figures were seen on. */
export function machine() {
  return `Node ${process.version}, ${cpus()[0].model.trim()} x ${cpus().length}`;
}
