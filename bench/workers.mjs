// Measures what a second process is worth: the same data, served by one process and by two, on all processors, which the load shares.
import {
  bench,
  copyOf,
  fill,
  machine,
  measure,
  options,
  reads,
  service,
  sqliteDatabase,
  start,
  stop,
  table,
} from './harness.mjs';

const { animals, connections, rounds, seconds } = options({
  animals: 100_000,
  connections: 32,
  rounds: 5,
  seconds: 3,
});

await bench(async () => {
  const data = sqliteDatabase();
  await fill(data, animals);
  console.log(`${machine()}, SQLite, ${animals} animals, ${connections} connections, ${rounds} rounds of ${seconds} s`);
  const row = table('request', 'one process, per second', 'p99 ms', 'two, per second', 'p99 ms', 'ratio');
  const ids = Array.from({ length: 1_000 }, (_, i) => 1 + ((i * 7_919) % animals));
  const loads = [
    reads('GET /v1/pets?limit=100, read anew', ['/v1/pets?limit=100'], 100),
    reads('GET /v1/pets?limit=20, read anew', ['/v1/pets?limit=20'], 20),
    reads(
      'GET /v1/pets/{petId}',
      ids.map((id) => `/v1/pets/${id}`),
      1,
    ),
  ];
  for (const load of loads) {
    const preload = load.name.includes('anew') ? ['--import', './bench/nothing-kept.mjs'] : [];
    const targets = [];
    for (const workers of ['1', '2'])
      targets.push(await start(service(`${workers} processes`, copyOf(data), preload, { WEB_CONCURRENCY: workers })));
    const [one, two] = await measure(targets, load, { connections, rounds, seconds });
    row(load.name, one.rate, one.p99, two.rate, two.p99, two.rate / one.rate);
    for (const target of targets) await stop(target);
  }
});
