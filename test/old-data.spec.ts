import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import Libsql from 'libsql';
import mysql from 'mysql2/promise';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { LastingUrl } from '../src/adapters/persistence/database-url.js';
import { copyStore } from '../src/adapters/persistence/typeorm/copy-store.js';
import { withEngine } from '../src/adapters/persistence/typeorm/open-database.js';
import { applySteps } from '../src/adapters/persistence/typeorm/schema-steps.js';
import { ApiKeyService } from '../src/application/keys/api-key.service.js';
import { readConfig } from '../src/config.js';
import { Answer, Service } from './support/service.js';
import { lastingKinds, StoreKind, TestStore } from './support/stores.js';

// Each store is loaded, and copied to the others, on servers that others use too.
jest.setTimeout(60_000);

const DATA = 'test/data/first-release';
const HOUR = 3_600_000;

/** The pets that the first release was given, but for those that were deleted by hand; the oldest first. */
const PETS: readonly (readonly [id: number, name: string, categoryId: string, status: string])[] = [
  [1, 'Bella', '42', 'available'],
  [2, 'bella', '42', 'pending'],
  [3, ' Bella ', '42', 'sold'],
  [4, 'Zo\u00eb', '1', 'available'],
  [5, 'Zoe\u0308', '1', 'pending'],
  [6, '\u{1f436}'.repeat(255), '9223372036854775807', 'sold'],
  [7, '👩‍👩‍👧‍👦 🐶', '-9223372036854775808', 'available'],
  [8, `'"\\%_?:$1\`--;/*`, '9007199254740993', 'pending'],
  [9, 'x'.repeat(255), '-9007199254740993', 'sold'],
  [11, 'null', '0', 'pending'],
  [12, '\u202egnipeels\u202c', '-1', 'sold'],
  [13, 'ÄÖÜ ß', '2', 'available'],
  [14, "O'Hara", '3', 'pending'],
  [15, '{"a":[1]}', '4', 'sold'],
  [16, 'NULL', '5', 'available'],
  [17, '\u{10ffff}\ufffd\ue000', '6', 'pending'],
  [18, 'a ', '8', 'sold'],
  [19, 'a', '8', 'available'],
  [20, 'Newest but one', '9', 'pending'],
  [21, 'Newest', '10', 'sold'],
  [22, 'Old', '11', 'available'],
];

/** The highest id that was given; its pet was deleted. */
const LAST_ID = 23;

/** What the first release has handed out, which no database keeps. */
interface HandedOut {
  readonly keys: Readonly<Record<'valid' | 'expired' | 'revoked', string>>;
  readonly cursors: Readonly<Record<'all' | 'sold', string>>;
}

/** How to run a text of SQL on each kind of store, and which text. */
const LOADERS: Readonly<Record<string, { file: string; run: (url: string, sql: string) => Promise<unknown> }>> = {
  SQLite: {
    file: 'sqlite.sql',
    run: (url, sql) => {
      const connection = new Libsql(url.replace('sqlite:', ''));
      connection.exec(sql);
      return Promise.resolve(connection.close());
    },
  },
  PostgreSQL: {
    file: 'postgres.sql',
    run: async (url, sql) => {
      const client = new pg.Client({ connectionString: url });
      await client.connect();
      await client.query(sql);
      await client.end();
    },
  },
  MariaDB: {
    file: 'mariadb.sql',
    run: async (url, sql) => {
      const { hostname: host, port, username: user, pathname } = new URL(url);
      const server = { host, port: Number(port), user, database: pathname.slice(1) };
      const connection = await mysql.createConnection({ ...server, charset: 'utf8mb4', multipleStatements: true });
      await connection.query(sql);
      await connection.end();
    },
  },
};

/** A store of this kind as the first release has left it an hour ago; the idempotency key "old" is a day older. */
async function loaded(kind: StoreKind): Promise<TestStore> {
  const store = await kind.create();
  const { file, run } = LOADERS[kind.name] as (typeof LOADERS)[string];
  const before = (hours: number) => new Date(Date.now() - hours * HOUR).toISOString();
  const ages = `UPDATE idempotency_key SET created_at = '${before(1)}' WHERE token <> 'old';
    UPDATE idempotency_key SET created_at = '${before(25)}' WHERE token = 'old';`;
  const tables = file === 'postgres.sql' ? ages.replaceAll('UPDATE ', 'UPDATE public.') : ages;
  await run(store.url, readFileSync(join(DATA, file), 'utf8') + tables);
  return store;
}

function lasting(url: string): LastingUrl {
  return readConfig({ DATABASE_URL: url }).database as LastingUrl;
}

const { databaseLimits } = readConfig({});

const json = ([id, name, categoryId, status]: (typeof PETS)[number]) =>
  `{"id":${id},"name":${JSON.stringify(name)},"categoryId":${categoryId},"status":"${status}"}`;

const newestFirst = (pets: readonly (typeof PETS)[number][]) => `[${pets.toReversed().map(json).join(',')}]`;

/** The cases of one store that has all that the first release had on a store of the kind `madeOn`. */
function hasItAll(madeOn: string, prepare: () => Promise<TestStore>): void {
  let store: TestStore;
  let service: Service;
  const { keys, cursors } = (
    JSON.parse(readFileSync(join(DATA, 'keys-and-cursors.json'), 'utf8')) as Record<string, HandedOut>
  )[madeOn] as HandedOut;

  beforeAll(async () => {
    store = await prepare();
    service = await Service.start({ DATABASE_URL: store.url, API_KEYS: 'key-of-the-old-data-test' });
  });

  afterAll(async () => {
    await service.stop();
    await store.remove();
  });

  const as = (key: string) => ({ Authorization: `Bearer ${key}` });
  const get = (path: string) => service.send(path, { headers: as(keys.valid) });
  const add = (idempotencyKey: string, body: string) =>
    service.add(body, { ...as(keys.valid), 'Idempotency-Key': idempotencyKey });
  const sent = (id: number) =>
    json(PETS.find((pet) => pet[0] === id) as (typeof PETS)[number]).replace(/"id":\d+,/, '');
  const idIn = ({ status, body }: Answer) => {
    expect(status).toBe(201);
    return Number(/"id":(\d+)/.exec(body)?.[1]);
  };

  it('has every pet, byte for byte', async () => {
    expect((await get('/v1/pets?limit=100')).body).toBe(newestFirst(PETS));
    expect((await get('/v1/pets/6')).body).toBe(json(PETS[5] as (typeof PETS)[number]));
    for (const id of [10, LAST_ID]) expect((await get(`/v1/pets/${id}`)).status).toBe(404);
  });

  it('takes the key that is valid, and says why it does not take the others', async () => {
    expect((await get('/v1/pets')).status).toBe(200);
    for (const state of ['expired', 'revoked'] as const) {
      const { status, body } = await service.send('/v1/pets', { headers: as(keys[state]) });
      expect([status, body]).toEqual([401, expect.stringContaining(`"api_key_${state}"`)]);
    }
    const uses = await service.app.get(ApiKeyService).uses();
    const callers = uses.map(({ name, getPetCalls, lastGetPetAt }) => [name, getPetCalls, lastGetPetAt?.getFullYear()]);
    expect(callers.sort()).toEqual([
      ['old shop', 1, 2026],
      ['shop', 1, 2026],
      ['till', 1, 2026],
    ]);
  });

  it('goes on behind the cursors that were given', async () => {
    const all = await get(`/v1/pets?limit=100&cursor=${cursors.all}`);
    expect(all.body).toBe(newestFirst(PETS.filter(([id]) => id < 19)));
    const sold = await get(`/v1/pets?limit=100&status=sold&cursor=${cursors.sold}`);
    expect(sold.body).toBe(newestFirst(PETS.filter(([id, , , status]) => id < 18 && status === 'sold')));
    expect((await get(`/v1/pets?cursor=${cursors.sold}`)).status).toBe(400);
  });

  it.each([
    ['first-fresh', 2],
    [`quoted-'"%_`, 7],
    ['late-fresh', 20],
  ])('answers the idempotency key %s with its pet, and refuses it with another one', async (token, id) => {
    const again = await add(token, sent(id));
    expect([again.status, again.headers['idempotent-replayed'], idIn(again)]).toEqual([201, 'true', id]);
    expect(again.body).toBe(json(PETS.find((pet) => pet[0] === id) as (typeof PETS)[number]));
    expect((await add(token, sent(1))).status).toBe(422);
  });

  it('goes on above all ids that were given, by keys too that are over, or whose pet was deleted', async () => {
    let last = LAST_ID;
    const above = (answer: Answer) => {
      expect(answer.headers['idempotent-replayed']).toBeUndefined();
      const id = idIn(answer);
      expect(id).toBeGreaterThan(last);
      last = id;
    };
    above(await service.add(sent(1), as(keys.valid)));
    above(await add('gone', '{"name":"Gone","categoryId":7}'));
    above(await add('deleted', '{"name":"Deleted","categoryId":12}'));
    above(await add('old', sent(22)));
    above(await add('of-another-key', sent(13)));
  });
}

describe.each(lastingKinds)('the store of the first release on $name', (kind) => {
  describe('opened by this build', () => hasItAll(kind.name, () => loaded(kind)));

  describe.each(lastingKinds.filter((other) => other !== kind))('copied to $name by this build', (other) =>
    hasItAll(kind.name, async () => {
      const source = await loaded(kind);
      const target = await other.create();
      await withEngine(lasting(source.url), databaseLimits, applySteps);
      await copyStore(lasting(source.url), lasting(target.url), databaseLimits, () => undefined);
      await source.remove();
      return target;
    }),
  );
});
