import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LastingUrl } from '../../../../src/adapters/persistence/database-url.js';
import { Engine } from '../../../../src/adapters/persistence/typeorm/engines/engine.js';
import { withEngine } from '../../../../src/adapters/persistence/typeorm/open-database.js';
import { petTable } from '../../../../src/adapters/persistence/typeorm/pets/pet.schema.js';
import { applySteps, revertStep, schemaSteps } from '../../../../src/adapters/persistence/typeorm/schema-steps.js';
import { UsageError } from '../../../../src/application/errors.js';
import { readConfig } from '../../../../src/config.js';
import { lastingKinds, openStoreAt, TestStore } from '../../../support/stores.js';

describe.each(lastingKinds)('the migrations on $name', (kind) => {
  let store: TestStore;
  let url: LastingUrl;

  beforeEach(async () => {
    store = await kind.create();
    url = readConfig({ DATABASE_URL: store.url }).database as LastingUrl;
  });

  afterEach(() => store.remove());

  const withSchema = (use: (engine: Engine) => Promise<void>) => withEngine(url, readConfig({}).databaseLimits, use);

  it('run up, down to nothing, and up again', async () => {
    await withSchema(async (engine) => {
      const names = (await schemaSteps(engine.dataSource)).map(({ name }) => name);
      expect(await applySteps(engine)).toEqual(names);
      for (const name of names.toReversed()) expect(await revertStep(engine)).toBe(name);
      expect(await revertStep(engine)).toBeUndefined();
      const left = await engine.dataSource
        .createQueryRunner()
        .getTables(engine.dataSource.entityMetadatas.map((each) => each.tablePath));
      expect(left).toEqual([]);
      expect(await applySteps(engine)).toEqual(names);
    });
  });

  it('go on, up and down, if the newest step was cut short before it was written down that it is done', async () => {
    await withSchema(async (engine) => {
      // Elsewhere a step and its mark are one transaction.
      if (kind.name !== 'MariaDB') return;
      await applySteps(engine);
      const name = (await schemaSteps(engine.dataSource)).at(-1)?.name;
      const say = (sql: string) => engine.dataSource.query(sql);
      await say(`DELETE FROM migrations WHERE name = '${name}'`);
      expect(await applySteps(engine)).toEqual([name]);
      await say(`CREATE TABLE mark AS SELECT * FROM migrations WHERE name = '${name}'`);
      expect(await revertStep(engine)).toBe(name);
      await say('INSERT INTO migrations SELECT * FROM mark');
      expect(await revertStep(engine)).toBe(name);
    });
  });

  it('have no id of a pet given again, if all but the first are taken back and applied once more', async () => {
    const opened = await openStoreAt(store.url);
    const { pet } = await opened.pets.add({ name: 'Bella', categoryId: 1n, status: 'sold' });
    await opened.close();
    await withSchema(async (engine) => {
      await engine.dataSource.query('DELETE FROM pet');
      const [, ...later] = await schemaSteps(engine.dataSource);
      for (const { name } of later.toReversed()) expect(await revertStep(engine)).toBe(name);
      expect(await applySteps(engine)).toHaveLength(later.length);
      expect(await engine.lastId(petTable)).toBe(pet.id);
    });
  });

  it('make the schema that the entities describe, so that TypeORM has nothing to add', async () => {
    await withSchema(async (engine) => {
      await applySteps(engine);
      const { upQueries } = await engine.dataSource.driver.createSchemaBuilder().log();
      expect(upQueries.map(({ query }) => query)).toEqual([]);
    });
  });

  it('are listed with what is applied, before and after', async () => {
    await withSchema(async (engine) => {
      const before = await schemaSteps(engine.dataSource);
      expect(before.length).toBeGreaterThan(0);
      for (const { applied } of before) expect(applied).toBe(false);
      await applySteps(engine);
      for (const { applied } of await schemaSteps(engine.dataSource)) expect(applied).toBe(true);
      expect(await applySteps(engine)).toEqual([]);
    });
  });

  it('are applied by a start, once, and keep the data of the start before', async () => {
    const first = await openStoreAt(store.url);
    await first.pets.add({ name: 'Bella', categoryId: 1n, status: 'sold' });
    const secret = await first.installation.cursorSecret();
    await first.close();
    const second = await openStoreAt(store.url);
    expect(await second.pets.list({ limit: 10 })).toHaveLength(1);
    expect(await second.installation.cursorSecret()).toBe(secret);
    await second.close();
    await withSchema(async (engine) => expect(await applySteps(engine)).toEqual([]));
  });

  it('index the walk through a status and the whole list, so that neither sorts', async () => {
    await withSchema(async (engine) => {
      await applySteps(engine);
      const table = await engine.dataSource.createQueryRunner().getTable('pet');
      const indices = table?.indices.map((index) => index.columnNames.toSorted().join()) ?? [];
      expect(indices).toContain('id,status');
      expect(table?.primaryColumns.map(({ name }) => name)).toEqual(['id']);
    });
  });

  it('are applied once by processes that start together, which take turns', async () => {
    const applied = await Promise.all(
      Array.from({ length: 3 }, async () => {
        let names: string[] = [];
        await withSchema(async (engine) => void (names = await applySteps(engine)));
        return names;
      }),
    );
    expect(applied.filter((names) => names.length > 0)).toHaveLength(1);
  });

  it('are refused in one line if a newer build has added to them', async () => {
    const message =
      'The schema of the database is newer than this build, which does not know AddOwner1900000000000; run the build that made it, or a newer one.';
    await withSchema(async (engine) => {
      await applySteps(engine);
      await engine.dataSource.query(
        `INSERT INTO migrations (timestamp, name) VALUES (1900000000000, 'AddOwner1900000000000')`,
      );
      for (const step of [schemaSteps(engine.dataSource), applySteps(engine), revertStep(engine)]) {
        await expect(step).rejects.toEqual(new UsageError(message));
      }
    });
    await expect(openStoreAt(store.url)).rejects.toEqual(new UsageError(message));
  });

  it('may be followed by one step of a newer build that is an addition, if nothing but the schema of this build is asked for', async () => {
    await withSchema(async (engine) => {
      await applySteps(engine);
      const { dataSource } = engine;
      const names = (await schemaSteps(dataSource)).map(({ name }) => name);
      await dataSource.query(
        `INSERT INTO migrations (timestamp, name) VALUES (1900000000000, 'AddOwner1900000000000')`,
      );
      await dataSource.query(
        `INSERT INTO installation (name, value) VALUES ('addition_1900000000000', 'AddOwner1900000000000')`,
      );
      expect(await schemaSteps(dataSource)).toEqual(names.map((name) => ({ name, applied: true })));
      expect(await applySteps(engine)).toEqual([]);
      for (const step of [schemaSteps(dataSource, true), revertStep(engine)])
        await expect(step).rejects.toThrow('does not know AddOwner1900000000000');
    });
    await (await openStoreAt(store.url)).close();
    await withSchema(async ({ dataSource }) => {
      await dataSource.query(`INSERT INTO migrations (timestamp, name) VALUES (1900000000001, 'AddAge1900000000001')`);
      await dataSource.query(
        `INSERT INTO installation (name, value) VALUES ('addition_1900000000001', 'AddAge1900000000001')`,
      );
      await expect(schemaSteps(dataSource)).rejects.toThrow('The schema of the database is newer than this build');
    });
  });
});
