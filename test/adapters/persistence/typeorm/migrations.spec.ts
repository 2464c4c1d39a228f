import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LastingUrl, withDataSource } from '../../../../src/adapters/persistence/typeorm/open-database.js';
import { applySteps, revertStep, schemaSteps } from '../../../../src/adapters/persistence/typeorm/schema-steps.js';
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

  it('run up, down to nothing, and up again', async () => {
    await withDataSource(url, async (dataSource) => {
      const names = (await schemaSteps(dataSource)).map(({ name }) => name);
      expect(await applySteps(dataSource)).toEqual(names);
      for (const name of names.toReversed()) expect(await revertStep(dataSource)).toBe(name);
      expect(await revertStep(dataSource)).toBeUndefined();
      const left = await dataSource
        .createQueryRunner()
        .getTables(dataSource.entityMetadatas.map((each) => each.tablePath));
      expect(left).toEqual([]);
      expect(await applySteps(dataSource)).toEqual(names);
    });
  });

  it('make the schema that the entities describe, so that TypeORM has nothing to add', async () => {
    await withDataSource(url, async (dataSource) => {
      await applySteps(dataSource);
      const { upQueries } = await dataSource.driver.createSchemaBuilder().log();
      expect(upQueries.map(({ query }) => query)).toEqual([]);
    });
  });

  it('are listed with what is applied, before and after', async () => {
    await withDataSource(url, async (dataSource) => {
      const before = await schemaSteps(dataSource);
      expect(before.length).toBeGreaterThan(0);
      for (const { applied } of before) expect(applied).toBe(false);
      await applySteps(dataSource);
      for (const { applied } of await schemaSteps(dataSource)) expect(applied).toBe(true);
      expect(await applySteps(dataSource)).toEqual([]);
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
    await withDataSource(url, async (dataSource) => expect(await applySteps(dataSource)).toEqual([]));
  });

  it('index the walk through a status and the whole list, so that neither sorts', async () => {
    await withDataSource(url, async (dataSource) => {
      await applySteps(dataSource);
      const table = await dataSource.createQueryRunner().getTable('pet');
      const indices = table?.indices.map((index) => index.columnNames.join()) ?? [];
      expect(indices).toContain('status,id');
      expect(table?.primaryColumns.map(({ name }) => name)).toEqual(['id']);
    });
  });
});
