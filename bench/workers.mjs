// Measures what a second process is worth: the same data, served by one process and by two, on all processors. The load shares them; it is
// pipelined, so that it leaves most of them.
import {
  bench,
  copyOf,
  fill,
  machine,
  measure,
  modules,
  options,
  pages,
  service,
  single,
  sqliteDatabase,
  start,
  stop,
  table,
} from './harness.mjs';

const { animals, connections, pipelining, rounds, seconds } = options({
  animals: 100_000,
  connections: 32,
  pipelining: 4,
  rounds: 5,
  seconds: 3,
});

await bench(async () => {
  const data = sqliteDatabase();
  await fill(data, animals);
  console.log(`${machine()}, SQLite, ${animals} animals, ${connections} connections, ${rounds} rounds of ${seconds} s`);
  const row = table(
    'request',
    'one process, per second',
    'processor µs each',
    'two, per second',
    'processor µs each',
    'ratio',
  );
  const loads = [
    pages('GET /v1/pets?limit=100, read anew', ['/v1/pets?limit=100'], 100),
    pages('GET /v1/pets?limit=20, read anew', ['/v1/pets?limit=20'], 20),
    single(animals),
  ];
  for (const load of loads) {
    const command = load.name.includes('anew') ? modules('./bench/nothing-kept.mjs') : undefined;
    const targets = [];
    for (const workers of ['1', '2'])
      targets.push(await start(service(`${workers} processes`, copyOf(data), command, { WEB_CONCURRENCY: workers })));
    const [one, two] = await measure(targets, load, { connections, pipelining, rounds, seconds });
    row(load.name, one.rate, one.cost, two.rate, two.cost, two.rate / one.rate);
    for (const target of targets) await stop(target);
  }
});
