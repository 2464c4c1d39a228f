// Measures the processor time of a request on the service and on PostgreSQL and its connections, and computes from these what a load takes.
// What it predicts for two instances is held against two. The server must be on this machine, for its processor time is read from /proc.
import { readFileSync } from 'node:fs';
import { cpus } from 'node:os';
import pg from 'pg';
import {
  bench,
  create,
  createOnce,
  drive,
  fill,
  machine,
  median,
  options,
  processorTime,
  serverDatabase,
  service,
  single,
  start,
  stop,
  table,
} from './harness.mjs';

const { pets, connections, rounds, seconds, lists, finds, creates, postgres } = options({
  pets: 1_000_000,
  connections: 32,
  rounds: 3,
  seconds: 3,
  // Of each hundred requests.
  lists: 50,
  finds: 45,
  creates: 5,
  postgres: '',
});

/** How much of a processor is planned to be used. */
const PLANNED = 0.5;
const LOADS = [1_000, 10_000, 100_000];
/** The connections of a process at most: what `pool` is unless it is set. */
const POOL = 10;

/** Of a hundred ticks a second. */
const TICK = 10_000;

/** The processor time of all, in microseconds, and what of it somebody used. */
function machineTime() {
  const [user, nice, system, idle, wait, ...others] = /^cpu +(.*)/
    .exec(readFileSync('/proc/stat', 'utf8'))[1]
    .split(' ')
    .map(Number);
  const used = user + nice + system + others.slice(0, 3).reduce((sum, ticks) => sum + ticks, 0);
  return { used: used * TICK, all: (used + idle + wait) * TICK };
}

async function ask(url, sql) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

/** The processes of the server that work for the service. */
const backends = async (url) =>
  (
    await ask(
      url,
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'petstore'`,
    )
  ).map(({ pid }) => ({
    child: { pid },
  }));

/** Pages of which no two that follow each other are the same, so that none is read for two requests at once. */
const differing = {
  name: 'GET /v1/pets, 80 different lists',
  requests: ['', '&status=available', '&status=pending', '&status=sold'].flatMap((status) =>
    Array.from({ length: 20 }, (_, i) => ({ path: `/v1/pets?limit=${10 + i}${status}` })),
  ),
  status: 200,
  // To parse each would take the load more time than the service takes to answer.
  check: (body) => body.startsWith('[{"id":') && body.endsWith('"}]'),
};

const sum = (values) => values.reduce((total, value) => total + value, 0);

/** Drives the targets together, and resolves to what a request took of processors, in microseconds, and what others did meanwhile. */
async function run(url, targets, load, clients) {
  const before = await backends(url);
  const all = { service: targets, database: before, load: [{ child: process }] };
  const times = () => Object.values(all).map((group) => sum(group.map(processorTime)));
  const [begun, then] = [times(), machineTime()];
  const results = await Promise.all(
    targets.map((target) => drive(target, load, { connections: clients, duration: seconds })),
  );
  const [ended, now] = [times(), machineTime()];
  const total = sum(results.map(({ total }) => total));
  const [ours, theirs, driver] = ended.map((time, i) => (time - begun[i]) / total);
  const used = sum(ended) - sum(begun);
  return {
    ...{ rate: sum(results.map(({ rate }) => rate)), service: ours, database: theirs, driver },
    others: Math.max(0, now.used - then.used - used) / (now.all - then.all),
    idle: 1 - (now.used - then.used) / (now.all - then.all),
    inUse: (await backends(url)).length,
  };
}

const medians = (runs) =>
  Object.fromEntries(Object.keys(runs[0]).map((key) => [key, median(runs.map((each) => each[key]))]));

/** What a kind of request takes if it comes alone, of many clients of one instance, and of as many of each of two, in turns. */
async function measured(url, [one, two], load) {
  const runs = [[], [], []];
  for (let round = 0; round <= rounds; round++) {
    const seen = [
      await run(url, [one], load, 1),
      await run(url, [one], load, connections),
      await run(url, [one, two], load, connections),
    ];
    // The first one is to warm up, and opens the connections.
    if (round > 0) seen.forEach((each, i) => runs[i].push(each));
  }
  return runs.map(medians);
}

/**
 * Requests a second of so many instances on this machine: what is left of the processors is shared by the service, the database and the load,
 * and neither an instance nor the load has more than one of them. `others` is what the rest of the machine took meanwhile, of 1.
 */
function predicted({ service: ours, database, driver }, instances, others) {
  const left = cpus().length * (1 - others);
  return Math.min(left / (ours + database + driver), instances / ours, 1 / driver) * 1e6;
}

const percent = (is, should) => `${is < should ? '−' : '+'}${Math.abs(100 * (is / should - 1)).toFixed(0)} %`;

await bench(async () => {
  if (postgres === '') throw new Error('--postgres must be the URL of a PostgreSQL on this machine.');
  console.log(
    `${machine()}, ${pets} pets, ${connections} connections to each instance, ${rounds} rounds of ${seconds} s`,
  );
  const url = await serverDatabase(postgres);
  await fill(url, pets);
  const targets = [await start(service('one', url)), await start(service('two', url))];

  const loads = {
    list: differing,
    find: single(pets),
    create: create(pets),
    'create with a key': createOnce(pets),
  };
  const kinds = {};
  const inUse = [];
  const cost = table('request', 'per second', 'service µs', 'database µs', 'load µs', 'others', 'idle');
  const held = [];
  const titles = ['request', 'two, predicted', 'two, measured', 'error', 'processor µs predicted', 'measured', 'error'];
  for (const [kind, load] of Object.entries(loads)) {
    const [alone, one, two] = await measured(url, targets, load);
    kinds[kind] = { alone, one };
    for (const [how, seen] of Object.entries({
      alone: alone,
      [`of ${connections}`]: one,
      [`of two times ${connections}`]: two,
    }))
      cost(`${kind}, ${how}`, seen.rate, seen.service, seen.database, seen.driver, seen.others, seen.idle);
    inUse.push(two.inUse);
    const rate = predicted(one, 2, two.others);
    const [before, after] = [one, two].map((each) => each.service + each.database);
    held.push([kind, rate, two.rate, percent(rate, two.rate), before, after, percent(before, after)]);
  }
  const compared = table(...titles);
  for (const cells of held) compared(...cells);
  for (const target of targets) await stop(target);

  console.log(`\nConnections of two instances to the database: ${Math.max(...inUse)}`);

  const requests = lists + finds + creates;
  const mix = (how, part) =>
    (lists * kinds.list[how][part] + finds * kinds.find[how][part] + creates * kinds.create[how][part]) / requests;
  const plan = table(
    `requests a second: ${lists} lists, ${finds} finds, ${creates} creates of ${requests}`,
    'creates',
    'processes of the service',
    'processors of the database',
    'connections at most',
  );
  for (const rate of LOADS) {
    const [few, many] = ['one', 'alone'].map((how) =>
      Math.max(2, Math.ceil((rate * mix(how, 'service')) / 1e6 / PLANNED)),
    );
    const [least, most] = ['one', 'alone'].map((how) => ((rate * mix(how, 'database')) / 1e6 / PLANNED).toFixed(1));
    plan(
      String(rate),
      (rate * creates) / requests,
      `${few} to ${many}`,
      `${least} to ${most}`,
      `${few * POOL} to ${many * POOL}`,
    );
  }
});
