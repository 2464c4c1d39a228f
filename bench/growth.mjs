// Measures what a page costs if there are few pets and if there are many: the first page and one far down, with each filter.
import { writeCursor } from '../dist/modules/src/application/pets/pet.service.js';
import {
  bench,
  fill,
  machine,
  measure,
  modules,
  options,
  pages,
  pin,
  serverDatabase,
  service,
  sqliteDatabase,
  start,
  stop,
  table,
} from './harness.mjs';

const { few, many, rounds, seconds, postgres } = options({
  few: 100_000,
  many: 5_000_000,
  rounds: 3,
  seconds: 3,
  postgres: '',
});

const LIMIT = 20;
const STATUSES = [undefined, 'available', 'pending', 'sold'];

/** The path of a page at some place, nine tenths down, for each filter; their cursors are made as the service makes them. */
function pagesFarDown(animals) {
  const page = (status) => {
    const id = BigInt(Math.round(animals * (0.1 + Math.random() / 100)));
    return `${list(status)}&cursor=${writeCursor(id, { status })}`;
  };
  return STATUSES.map((status) => Array.from({ length: 200 }, () => page(status)));
}

function list(status) {
  return `/v1/pets?limit=${LIMIT}${status === undefined ? '' : `&status=${status}`}`;
}

async function compare(kind, urls, pinned) {
  const targets = [];
  const far = [];
  for (const [i, animals] of [few, many].entries()) {
    await fill(urls[i], animals);
    far.push(pagesFarDown(animals));
    targets.push(await start(service(`${animals} animals`, urls[i], modules('./bench/nothing-kept.mjs')), pinned));
  }
  console.log(`\n${kind}, pages of ${LIMIT}, nothing kept, 32 connections:`);
  const row = table('page', `${few} animals, per second`, `${many} animals, per second`, 'ratio');
  for (const [i, status] of STATUSES.entries()) {
    for (const [place, paths] of [
      ['first', () => [list(status)]],
      ['far down', (size) => far[size][i]],
    ]) {
      const name = `${place}, ${status ?? 'all'}`;
      const loads = targets.map((_, size) => pages(name, paths(size), LIMIT));
      const [before, after] = await measure(targets, loads, { connections: 32, rounds, seconds });
      row(name, before.rate, after.rate, after.rate / before.rate);
    }
  }
  for (const target of targets) await stop(target);
}

await bench(async () => {
  console.log(`${machine()}, ${rounds} rounds of ${seconds} s`);
  const pinned = pin();
  await compare('SQLite', [sqliteDatabase(), sqliteDatabase()], pinned);
  if (postgres === '') return;
  await compare('PostgreSQL', [await serverDatabase(postgres), await serverDatabase(postgres)], pinned);
});
