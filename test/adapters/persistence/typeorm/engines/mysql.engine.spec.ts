import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { LastingUrl } from '../../../../../src/adapters/persistence/database-url.js';
import { Addition, Engine } from '../../../../../src/adapters/persistence/typeorm/engines/engine.js';
import { withEngine } from '../../../../../src/adapters/persistence/typeorm/open-database.js';
import { applySteps } from '../../../../../src/adapters/persistence/typeorm/schema-steps.js';
import { Added } from '../../../../../src/application/pets/pet-repository.port.js';
import { readConfig } from '../../../../../src/config.js';
import { describeOnServers } from '../../../../support/on-servers.js';
import { TestStore } from '../../../../support/stores.js';

const additions: Addition[] = ['a', 'b', 'c'].map((name) => ({ pet: { name, categoryId: 1n, status: 'sold' } }));

describeOnServers(
  'the engine of $name',
  (kind) => {
    let store: TestStore;

    beforeEach(async () => {
      store = await kind.create();
    });

    afterEach(() => store.remove());

    /** Lends the engine, whose one connection has been told something. */
    const withSession = async (sql: string, use: (engine: Engine) => Promise<void>) => {
      const { database, databaseLimits } = readConfig({ DATABASE_URL: `${store.url}?pool=1` });
      await withEngine(database as LastingUrl, databaseLimits, async (engine) => {
        await applySteps(engine);
        await engine.dataSource.query(sql);
        await use(engine);
      });
    };

    it('knows the ids of animals added together where they go up in steps', async () => {
      await withSession('SET SESSION auto_increment_increment = 5', async (engine) => {
        const added = (await engine.addPets(additions)) as Added[];
        const rows = await engine.rows('SELECT id, name FROM pet ORDER BY id', []);
        expect(added.map(({ pet }) => [String(pet.id), pet.name])).toEqual(
          rows.map(([id, name]) => [String(id), name]),
        );
      });
    });

    it('sets its sessions itself, whatever the server is set to', async () => {
      await withSession('SELECT 1', async (engine) => {
        const [row] = await engine.rows('SELECT @@sql_mode, @@time_zone, @@autocommit', []);
        expect(row).toEqual([expect.stringContaining('STRICT_ALL_TABLES'), '+00:00', '1']);
      });
    });
  },
  'MariaDB',
);
