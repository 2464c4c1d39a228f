import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { TableColumn } from 'typeorm';
import { LastingUrl } from '../../../../src/adapters/persistence/database-url.js';
import { copyStore } from '../../../../src/adapters/persistence/typeorm/copy-store.js';
import { tables } from '../../../../src/adapters/persistence/typeorm/data-source-options.js';
import { Engine } from '../../../../src/adapters/persistence/typeorm/engines/engine.js';
import { withEngine } from '../../../../src/adapters/persistence/typeorm/open-database.js';
import { applySteps } from '../../../../src/adapters/persistence/typeorm/schema-steps.js';
import { readConfig } from '../../../../src/config.js';
import { lastingKinds, TestStore } from '../../../support/stores.js';

const { databaseLimits } = readConfig({});

function urlOf(store: TestStore): LastingUrl {
  return readConfig({ DATABASE_URL: store.url }).database as LastingUrl;
}

/** The columns of every table of the database but the one in which TypeORM has the migrations, by the table's name. */
async function migrated({ dataSource }: Engine): Promise<Map<string, TableColumn[]>> {
  const runner = dataSource.createQueryRunner();
  const listed = await dataSource.query<{ name: string }[]>(
    dataSource.options.type === 'better-sqlite3'
      ? `SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name <> 'migrations'`
      : `SELECT table_name AS name FROM information_schema.tables WHERE table_name <> 'migrations' AND table_schema = ` +
          (dataSource.options.type === 'postgres' ? 'current_schema()' : 'DATABASE()'),
  );
  const found = await runner.getTables(listed.map(({ name }) => name));
  await runner.release();
  return new Map(found.map(({ name, columns }) => [name.split('.').at(-1) as string, columns]));
}

function described(table: string, { name, isNullable, isPrimary, length }: Omit<TableColumn, 'type'>): string {
  const size = length ? `, at most ${length} long` : '';
  return `${table}.${name}${isPrimary ? ', of the key' : ''}${isNullable ? ', may be NULL' : ''}${size}`;
}

/** The columns of the database, those of the entity schemas, and those that are copied. */
async function columnsOf(engine: Engine): Promise<Record<'migrated' | 'schemas' | 'copied', string[]>> {
  const inDatabase = [...(await migrated(engine))].flatMap(([table, columns]) =>
    columns.map((column) => described(table, column)),
  );
  const inSchemas = engine.dataSource.entityMetadatas.flatMap(({ tableName, columns }) =>
    columns.map((column) => described(tableName, { ...column, name: column.databaseName } as unknown as TableColumn)),
  );
  const copied = tables.flatMap(({ name, columns }) => columns.map((column) => `${name}.${column.name}`));
  return { migrated: inDatabase.sort(), schemas: inSchemas.sort(), copied: copied.sort() };
}

describe.each(lastingKinds)('the schema on $name', (kind) => {
  let stores: TestStore[];

  beforeEach(async () => {
    stores = [await kind.create(), await kind.create()];
  });

  afterEach(() => Promise.all(stores.map((store) => store.remove())));

  const onEngine = (store: TestStore, use: (engine: Engine) => Promise<void>) =>
    withEngine(urlOf(store), databaseLimits, async (engine) => {
      await applySteps(engine);
      await use(engine);
    });

  it('is the one that the entity schemas describe, column by column, and that is copied', async () => {
    await onEngine(stores[0] as TestStore, async (engine) => {
      const { migrated, schemas, copied } = await columnsOf(engine);
      expect(migrated).toEqual(schemas);
      expect(copied).toEqual(migrated.map((column) => column.split(',')[0]).sort());
    });
  });

  it('compares every text byte for byte', async () => {
    await onEngine(stores[0] as TestStore, async (engine) => {
      if (kind.name !== 'MariaDB') return;
      const columns = [...(await migrated(engine)).values()].flat().filter(({ type }) => type === 'varchar');
      expect(columns.length).toBeGreaterThan(10);
      expect(new Set(columns.map(({ collation }) => collation))).toEqual(
        new Set([expect.stringMatching(/^utf8mb4_(?:nopad|0900)_bin$/)]),
      );
    });
  });

  it.each([
    ['a column', 'ALTER TABLE pet ADD COLUMN planted varchar(100)', 'pet.planted, may be NULL, at most 100 long'],
    ['a table', 'CREATE TABLE owner (id varchar(9) PRIMARY KEY NOT NULL)', 'owner.id, of the key, at most 9 long'],
  ])('is another one with %s that the entity schemas lack', async (_what, sql, planted) => {
    await onEngine(stores[0] as TestStore, async (engine) => {
      await engine.dataSource.query(sql);
      const { migrated, schemas } = await columnsOf(engine);
      expect(migrated.filter((column) => !schemas.includes(column))).toEqual([planted]);
    });
  });

  it('is another one without a column that the entity schemas have', async () => {
    await onEngine(stores[0] as TestStore, async (engine) => {
      await engine.dataSource.query('ALTER TABLE api_key DROP COLUMN prefix');
      const { migrated, schemas } = await columnsOf(engine);
      expect(schemas.filter((column) => !migrated.includes(column))).toEqual(['api_key.prefix, at most 16 long']);
    });
  });

  it('is copied with a value in every column of every table', async () => {
    const [from, to] = stores as [TestStore, TestStore];
    const content = async (engine: Engine) => {
      const rows: Record<string, unknown> = {};
      for (const [table, columns] of await migrated(engine)) {
        const sql = `SELECT ${columns.map(({ name }) => name).join(', ')} FROM ${table} ORDER BY 1`;
        rows[table] = await engine.rows({ sql, values: [] });
      }
      return rows;
    };
    let before: unknown;
    await onEngine(from, async (engine) => {
      for (const [table, columns] of await migrated(engine)) {
        const names = columns.map(({ name }) => name).join(', ');
        const sql = `INSERT INTO ${table} (${names}) VALUES (${columns.map(() => '?').join(', ')})`;
        for (const row of [1, 2]) {
          // Texts and numbers of which no two in a row are the same.
          const values = columns.map(({ length }, i) => (length ? `${row} of ${i}` : BigInt(row * 100 + i)));
          await engine.rows({ sql, values });
        }
      }
      before = await content(engine);
    });
    await copyStore(urlOf(from), urlOf(to), databaseLimits, () => undefined);
    await onEngine(to, async (engine) => expect(await content(engine)).toEqual(before));
  });
});
