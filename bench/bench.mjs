// Measures the built service beside a bare node:http server over the same data, in turns. `npm run bench -- --help` says how.
import { writeFileSync } from 'node:fs';
import { chartOf } from './chart.mjs';
import {
  bench,
  copyOf,
  create,
  createOnce,
  farAway,
  fill,
  KEY,
  machine,
  measure,
  measureTogether,
  median,
  memory,
  modules,
  options,
  pages,
  pin,
  serverDatabase,
  service,
  single,
  sqliteDatabase,
  start,
  stop,
  table,
} from './harness.mjs';

const { animals, connections, rounds, seconds, postgres, mariadb, chart, counts } = options({
  animals: 100_000,
  connections: 32,
  rounds: 3,
  seconds: 4,
  postgres: '',
  mariadb: '',
  chart: '',
  counts: '1,32,256',
});

const OURS = 'this service';

const readings = [
  pages('GET /v1/pets?limit=20', ['/v1/pets?limit=20'], 20),
  pages('GET /v1/pets?limit=100&status=available', ['/v1/pets?limit=100&status=available'], 100),
  single(animals),
];
const creating = create(animals);
const creatingOnce = createOnce(animals);

/** Pages of which no two that follow each other are the same: eighty lists, by limit and status. */
function differing() {
  const statuses = ['', '&status=available', '&status=pending', '&status=sold'];
  const paths = Array.from({ length: 20 }, (_, i) => statuses.map((status) => `/v1/pets?limit=${10 + i}${status}`));
  const requests = paths.flat().map((path) => ({ path }));
  const check = (body) => JSON.parse(body).length >= 10;
  return { name: 'GET /v1/pets, 80 different lists', requests, status: 200, check };
}

const bare = (url) => ({
  name: 'node:http',
  command: ['bench/baseline.mjs'],
  variables: { DATABASE_URL: url, API_KEY: KEY },
});

/** What the chart shows: the ratios of each comparison, by its title. */
const ratios = [];

/** Prints how one server does beside another one. */
async function compare(title, [one, other], loads, count = connections) {
  const row = comparison(`${title}, ${count} ${count === 1 ? 'connection' : 'connections'}`, one, other);
  for (const load of loads) {
    const [ours, theirs] = await measure([one, other], load, { connections: count, rounds, seconds });
    row(load, ours, theirs);
  }
}

/** The same if all loads come at once. */
async function compareTogether(title, [one, other], loads) {
  const row = comparison(`${title}, ${connections} connections`, one, other);
  const [ours, theirs] = await measureTogether([one, other], loads, { connections, rounds, seconds });
  for (const [i, load] of loads.entries()) row(load, ours[i], theirs[i]);
}

/** Prints what exactly-once costs: creates with an Idempotency-Key beside creates without. */
async function compareKeys(title, one) {
  const row = comparison(`${title}, creates with an Idempotency-Key`, { name: 'with' }, { name: 'without' });
  const [keyed, plain] = await measure([one, one], [creatingOnce, creating], { connections, rounds, seconds });
  row(creating, keyed, plain);
}

function comparison(title, one, other) {
  console.log(`\n${title}:`);
  const bars = [];
  // The chart is of the service as it is.
  if (one.name === OURS) ratios.push({ title, bars });
  const row = table('request', `${one.name}, per second`, 'p99 ms', `${other.name}, per second`, 'p99 ms', 'ratio');
  return ({ name }, ours, theirs) => {
    const ratio = ours.rate / theirs.rate;
    row(name, ours.rate, ours.p99, theirs.rate, theirs.p99, ratio);
    bars.push({ name, ratio });
  };
}

/** Starts a server three times, and leaves it running: with the median of how long that took, and its memory at rest. */
async function startThrice(target, pinned) {
  const times = [];
  for (let i = 0; i < 2; i++) {
    const running = await start(target, pinned);
    times.push(running.started);
    await stop(running);
  }
  const running = await start(target, pinned);
  await new Promise((resolve) => setTimeout(resolve, 500));
  return { ...running, started: median([...times, running.started]), idle: memory(running) };
}

await bench(async () => {
  const pinned = pin();
  const data = sqliteDatabase();
  await fill(data, animals);
  console.log(`${machine()}, ${animals} animals, ${rounds} rounds of ${seconds} s`);

  const ours = await startThrice(service(OURS, copyOf(data)), pinned);
  const theirs = await startThrice(bare(copyOf(data)), pinned);
  for (const count of counts.split(',').map(Number))
    await compare('SQLite', [ours, theirs], [...readings, differing(), creating], count);
  const page = pages('GET /v1/pets?limit=20', ['/v1/pets?limit=20'], 20, true);
  await compareKeys('SQLite', ours);
  await compareTogether('SQLite, half of them read and half of them write', [ours, theirs], [page, creating]);
  console.log('\nLean:');
  const lean = table('', 'start to first 200, ms', 'memory idle, MB', 'after the load, MB');
  for (const target of [ours, theirs]) lean(target.name, target.started, target.idle, memory(target));

  const reading = await start(service('nothing kept', copyOf(data), modules('./bench/nothing-kept.mjs')), pinned);
  await compare('SQLite, read anew for each request', [reading, theirs], readings);
  const sharing = await start(service('commits shared', copyOf(data), modules()), pinned);
  const alone = await start(service('one commit each', copyOf(data), modules('./bench/one-commit-each.mjs')), pinned);
  for (const count of [1, connections])
    await compare('SQLite, commits shared or not', [sharing, alone], [creating], count);

  for (const [kind, server] of Object.entries({ PostgreSQL: postgres, MariaDB: mariadb })) {
    if (server === '') continue;
    const urls = [await serverDatabase(server), await serverDatabase(server)];
    for (const url of urls) await fill(url, animals);
    const both = await Promise.all([start(service(OURS, urls[0]), pinned), start(bare(urls[1]), pinned)]);
    const loads = [readings[0], differing(), readings[2], creating];
    await compare(kind, both, loads);
    await compareKeys(kind, both[0]);
    await Promise.all(both.map((each) => stop(each)));
    const far = await Promise.all(urls.map((url) => farAway(url)));
    const bothFar = await Promise.all([start(service(OURS, far[0]), pinned), start(bare(far[1]), pinned)]);
    await compare(`${kind} 2 ms away`, bothFar, loads);
    await compareKeys(`${kind} 2 ms away`, bothFar[0]);
    await Promise.all(bothFar.map((each) => stop(each)));
  }
  if (chart !== '') writeFileSync(chart, chartOf(`Requests a second, to ${theirs.name}`, ratios));
});
