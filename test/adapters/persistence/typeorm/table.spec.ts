import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { EntitySchema, Table as TableOfMigrations } from 'typeorm';
import { LastingUrl } from '../../../../src/adapters/persistence/database-url.js';
import { instant, int64 } from '../../../../src/adapters/persistence/typeorm/columns.js';
import { connect, disconnect, Engine, Script } from '../../../../src/adapters/persistence/typeorm/engines/engine.js';
import { engineOf, withEngine } from '../../../../src/adapters/persistence/typeorm/open-database.js';
import { applySteps } from '../../../../src/adapters/persistence/typeorm/schema-steps.js';
import { Table } from '../../../../src/adapters/persistence/typeorm/table.js';
import { readConfig } from '../../../../src/config.js';
import { describeOnServers, itIfHas } from '../../../support/on-servers.js';
import { Proxy } from '../../../support/proxy.js';
import { lastingKinds, TestStore } from '../../../support/stores.js';

interface Note {
  readonly id: bigint;
  readonly kind: string;
  readonly text?: string;
  readonly pages?: bigint;
  readonly readAt?: Date;
}

const notes = new Table(
  new EntitySchema<Note>({
    name: 'note',
    columns: {
      id: { ...int64, primary: true, generated: 'increment' },
      kind: { type: 'varchar', length: 9 },
      text: { type: 'varchar', length: 255, nullable: true },
      pages: { ...int64, nullable: true },
      readAt: { ...instant, name: 'read_at', nullable: true },
    },
    indices: [{ name: 'note_kind_id', columns: ['kind', 'id'] }],
  }),
);

const COUNT = { sql: 'SELECT COUNT(*) FROM note', values: [] };

describe.each(lastingKinds)('a table on $name', (kind) => {
  let store: TestStore;
  let engine: Engine;

  beforeAll(async () => {
    store = await kind.create();
    const { database, databaseLimits } = readConfig({ DATABASE_URL: store.url });
    engine = await engineOf(database as LastingUrl, databaseLimits);
    const { dataSource } = engine;
    await connect(engine);
    const runner = dataSource.createQueryRunner();
    await runner.createTable(
      new TableOfMigrations({
        name: 'note',
        columns: [
          {
            name: 'id',
            type: kind.name === 'SQLite' ? 'integer' : 'bigint',
            isPrimary: true,
            isGenerated: true,
            generationStrategy: 'increment',
          },
          { name: 'kind', type: 'varchar', length: '9' },
          { name: 'text', type: 'varchar', length: '255', isNullable: true },
          { name: 'pages', type: 'bigint', isNullable: true },
          { name: 'read_at', type: 'varchar', length: '24', isNullable: true },
        ],
        indices: [{ name: 'note_kind_id', columnNames: ['kind', 'id'] }],
      }),
    );
    await runner.release();
  });

  afterAll(async () => {
    await disconnect(engine);
    await store.remove();
  });

  beforeEach(() => engine.write({ sql: 'DELETE FROM note', values: [] }));

  const count = async () => Number((await engine.row(COUNT))?.[0]);
  const walk = async (where?: Partial<Note>, before?: bigint) =>
    (await engine.rows(notes.walkDown({ where, before, limit: 1_000 }, engine.indexHint))).map((row) =>
      notes.entity(row),
    );

  it('takes entities with what they have, and gives them back with that and no more', async () => {
    const given: Omit<Note, 'id'>[] = [
      { kind: 'long', text: `'"\\?$1`, pages: 2n ** 63n - 1n, readAt: new Date('2026-11-21T12:00:00.123Z') },
      { kind: 'short' },
      { kind: 'short', text: undefined, pages: -(2n ** 63n) },
      ...Array.from({ length: 300 }, (_, i) => ({ kind: 'many', ...(i % 2 === 0 && { pages: BigInt(i) }) })),
    ];
    const ids = (await engine.write(engine.insertion(notes, given))).map(([id]) => BigInt(id as string | bigint));
    ids.sort((a, b) => (a < b ? -1 : 1));
    const expected = given.with(2, { kind: 'short', pages: -(2n ** 63n) }).map((note, i) => ({ id: ids[i], ...note }));
    expect(await walk()).toStrictEqual(expected.toReversed());
    expect(await walk({ kind: 'short' })).toStrictEqual(expected.slice(1, 3).toReversed());
    expect(await walk({ kind: 'short' }, ids[2])).toStrictEqual(expected.slice(1, 2));
    expect(await walk({}, ids[1])).toStrictEqual(expected.slice(0, 1));
  });

  function* insertTwo(id: bigint): Script<unknown> {
    const rows = yield engine.insertion(notes, [{ kind: 'first' }]);
    yield { sql: 'INSERT INTO note (id, kind) VALUES (?, ?)', values: [id, 'second'] };
    return BigInt((rows[0] as [string])[0]);
  }

  it('is changed by all of a transaction, whose statements know the rows of those before, or by nothing of it', async () => {
    const id = await engine.transaction(() => insertTwo(10n ** 15n));
    expect((await walk()).map((note) => [note.id, note.kind])).toEqual([
      [10n ** 15n, 'second'],
      [id, 'first'],
    ]);
    const refused = await engine.transaction(() => insertTwo(10n ** 15n)).catch((error: unknown) => error);
    expect(engine.failure(refused)).toBe('duplicate');
    expect(await count()).toBe(2);
    await engine.transaction(() => insertTwo(10n ** 15n + 1_000n));
    expect(await count()).toBe(4);
  });

  it('is never seen with half of a transaction', async () => {
    const counts = await Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        if (i % 4 === 0) await engine.transaction(() => insertTwo(10n ** 16n + 1_000n * BigInt(i)));
        return count();
      }),
    );
    expect(counts.filter((each) => each % 2 !== 0)).toEqual([]);
    expect(await count()).toBe(10);
  });

  it('is left as it was by a script that throws', async () => {
    const failing = engine.transaction(function* () {
      yield* insertTwo(10n ** 17n);
      throw new Error('not so');
    });
    await expect(failing).rejects.toThrow('not so');
    expect(await count()).toBe(0);
  });
});

describeOnServers('a transaction on $name', (kind) => {
  itIfHas(kind, 'a way in between')(
    'is undone and told if the connection breaks, and the next one has another connection',
    async () => {
      const store = await kind.create();
      const [proxy, url] = await Proxy.to(store.url);
      const { database, databaseLimits } = readConfig({ DATABASE_URL: url });
      await withEngine(database as LastingUrl, databaseLimits, async (engine) => {
        await applySteps(engine);
        const fact = (name: string) => ({ sql: `INSERT INTO installation VALUES ('${name}', 'x')`, values: [] });
        const broken = engine.transaction(function* () {
          yield fact('first');
          setImmediate(() => proxy.cut());
          yield { sql: kind.name === 'PostgreSQL' ? 'SELECT pg_sleep(10)' : 'SELECT SLEEP(10)', values: [] };
        });
        expect(engine.failure(await broken.catch((error: unknown) => error))).toBe('lost');
        await engine.transaction(function* () {
          yield fact('second');
        });
        const rows = await engine.rows({ sql: `SELECT name FROM installation WHERE value = 'x'`, values: [] });
        expect(rows).toEqual([['second']]);
      });
      await proxy.close();
      await store.remove();
    },
  );
});
