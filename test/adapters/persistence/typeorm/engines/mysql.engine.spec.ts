import { afterEach, beforeEach, expect, it } from '@jest/globals';
import { LastingUrl } from '../../../../../src/adapters/persistence/database-url.js';
import { Engine } from '../../../../../src/adapters/persistence/typeorm/engines/engine.js';
import { withEngine } from '../../../../../src/adapters/persistence/typeorm/open-database.js';
import { petTable } from '../../../../../src/adapters/persistence/typeorm/pets/pet.schema.js';
import { applySteps } from '../../../../../src/adapters/persistence/typeorm/schema-steps.js';
import { NewPet } from '../../../../../src/domain/pets/pet.js';
import { readConfig } from '../../../../../src/config.js';
import { describeOnServers } from '../../../../support/on-servers.js';
import { TestStore } from '../../../../support/stores.js';

const newPets = ['a', 'b', 'c'].map((name): NewPet => ({ name, categoryId: 1n, status: 'sold' }));

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

    it('knows the ids of pets added together if they go up in steps', async () => {
      await withSession('SET SESSION auto_increment_increment = 5', async (engine) => {
        const ids = await engine.rows(engine.insertion(petTable, newPets));
        const rows = await engine.rows({ sql: 'SELECT id, name FROM pet ORDER BY id', values: [] });
        expect(newPets.map(({ name }, i) => [String(ids[i]?.[0]), name])).toEqual(
          rows.map(([id, name]) => [String(id), name]),
        );
      });
    });

    it('sets its sessions itself, whatever the server is set to', async () => {
      await withSession('SELECT 1', async (engine) => {
        const [row] = await engine.rows({ sql: 'SELECT @@sql_mode, @@time_zone, @@autocommit', values: [] });
        expect(row).toEqual([expect.stringContaining('STRICT_ALL_TABLES'), '+00:00', '1']);
      });
    });
  },
  'MariaDB',
);
