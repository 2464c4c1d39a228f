import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { LastingUrl } from '../../../../src/adapters/persistence/database-url.js';
import { Engine, LONGEST_SHARED } from '../../../../src/adapters/persistence/typeorm/engines/engine.js';
import { Statement, Walk } from '../../../../src/adapters/persistence/typeorm/table.js';
import { withEngine } from '../../../../src/adapters/persistence/typeorm/open-database.js';
import { petTable } from '../../../../src/adapters/persistence/typeorm/pets/pet.schema.js';
import { applySteps } from '../../../../src/adapters/persistence/typeorm/schema-steps.js';
import { Pet } from '../../../../src/domain/pets/pet.js';
import { readConfig } from '../../../../src/config.js';
import { itIfHas } from '../../../support/on-servers.js';
import { lastingKinds, StoreKind, TestStore } from '../../../support/stores.js';

const ROWS = 5_000;

const sold = { status: 'sold' } as const;

/** The lists, with the index that each walks, from the middle of the data if they begin below an id. */
const LISTS: readonly (readonly [list: string, index: string, walk: Walk<Pet>])[] = [
  ['all', 'primary', { limit: 21 }],
  ['all below', 'primary', { before: 2_500n, limit: 21 }],
  ['of a status', 'pet_status_id', { where: sold, limit: 21 }],
  ['of a status below', 'pet_status_id', { where: sold, before: 2_500n, limit: 21 }],
];

/** The pets, and SQL for the status of the one with the number i. */
const PETS = [
  ['of which the statuses are mixed', `CASE i % 3 WHEN 0 THEN 'sold' WHEN 1 THEN 'pending' ELSE 'available' END`],
  ['of which the sold ones are few and old', `CASE WHEN i <= 30 THEN 'sold' ELSE 'available' END`],
] as const;

/** How many questions are asked together. */
const COUNTS = [2, 3, 64];

/** Says how each kind tells what it would do: the plan, and what a walk along the index looks like in it. */
const EXPLAIN: Readonly<
  Record<string, { plans: (engine: Engine, statement: Statement) => Promise<string[]>; fill: string }>
> = {
  SQLite: {
    plans: async (engine, { sql, values }) => [text(await engine.rows({ sql: `EXPLAIN QUERY PLAN ${sql}`, values }))],
    fill: `WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${ROWS})
      INSERT INTO pet (name, category_id, status) SELECT 'x', i, %STATUS% FROM n`,
  },
  PostgreSQL: {
    plans: async ({ dataSource }, { sql, values }) => {
      const runner = dataSource.createQueryRunner();
      await runner.query('ANALYZE pet');
      let place = 0;
      await runner.query(`PREPARE list AS ${sql.replace(/\?/g, () => `$${++place}`)}`);
      const plans: string[] = [];
      // What the server may choose after some runs of a prepared statement, and what it chooses before.
      for (const mode of ['force_generic_plan', 'force_custom_plan']) {
        await runner.query(`SET plan_cache_mode = ${mode}`);
        const list = values.map(literal).join(', ');
        plans.push(text(await runner.query(`EXPLAIN EXECUTE list (${list})`)));
      }
      await runner.query('DEALLOCATE list');
      await runner.release();
      return plans;
    },
    fill: `INSERT INTO pet (name, category_id, status) SELECT 'x', i, %STATUS% FROM generate_series(1, ${ROWS}) AS n (i)`,
  },
  MariaDB: {
    plans: async (engine, { sql, values }) => {
      await engine.dataSource.query('ANALYZE TABLE pet');
      return [text(await engine.rows({ sql: `EXPLAIN ${sql}`, values }))];
    },
    fill: `INSERT INTO pet (name, category_id, status) SELECT 'x', i, %STATUS% FROM (SELECT seq AS i FROM seq_1_to_${ROWS}) AS n`,
  },
};

/** A value as PostgreSQL reads it. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `'{${value.join()}}'`;
  return typeof value === 'string' ? `'${value}'` : String(value);
}

function text(rows: unknown): string {
  return JSON.stringify(rows, (_key, value: unknown) => (typeof value === 'bigint' ? String(value) : value));
}

function expectToWalk(what: string, index: string, plans: readonly string[]): void {
  for (const plan of plans) {
    expect({ what, plan }).not.toEqual({
      what,
      plan: expect.stringMatching(/sort|temp b-tree|seq scan|filter:|"ALL"/i),
    });
    const walked = index === 'primary' ? /PK_|PRIMARY|SCAN pet"/ : /pet_status_id/;
    expect({ what, plan }).toEqual({ what, plan: expect.stringMatching(walked) });
  }
}

describe.each(lastingKinds)('the plans of $name', (kind: StoreKind) => {
  let store: TestStore;
  const explain = EXPLAIN[kind.name as string] as (typeof EXPLAIN)[string];

  beforeAll(async () => {
    store = await kind.create();
  });

  afterAll(() => store.remove());

  const use = <T>(work: (engine: Engine) => Promise<T>): Promise<T> => {
    const { database, databaseLimits } = readConfig({ DATABASE_URL: store.url });
    return withEngine(database as LastingUrl, databaseLimits, work);
  };

  itIfHas(kind, 'plans').each(PETS)(
    'walk one index, without a sort or a filter, through pets %s',
    async (_which, status) => {
      await use(async (engine) => {
        await applySteps(engine);
        await engine.dataSource.query('DELETE FROM pet');
        await engine.dataSource.query(explain.fill.replace('%STATUS%', status));
        for (const [list, index, walk] of LISTS) {
          expectToWalk(list, index, await explain.plans(engine, petTable.walkDown(walk, engine.indexHint)));
        }
      });
    },
  );

  itIfHas(kind, 'plans').each(PETS)(
    'look into one index for each of many that are asked together, of however few pets %s',
    async (_which, status) => {
      await use(async (engine) => {
        if (!engine.together) return;
        await applySteps(engine);
        await engine.dataSource.query('DELETE FROM pet');
        await engine.dataSource.query(explain.fill.replace('%STATUS%', status));
        for (const most of [ROWS, 100]) {
          await engine.dataSource.query(`DELETE FROM pet WHERE category_id > ${most}`);
          for (const count of COUNTS) {
            const ids = Array.from({ length: count }, (_, i) => BigInt(i * 70 + 1));
            expectToWalk(`${count} finds`, 'primary', await explain.plans(engine, engine.together.find(petTable, ids)));
            for (const [list, index, walk] of LISTS) {
              const statement = engine.together.walkDown(petTable, Array<Walk<Pet>>(count).fill(walk));
              const plans = await explain.plans(engine, statement);
              expectToWalk(`${count} lists of ${list}`, index, plans);
              // PostgreSQL counts on a tenth of the rows that a limit which it cannot know is set to: of the whole table, if nothing else is said.
              // What then seems to cost much is compiled, for longer than it runs.
              const most = 64 * Math.ceil(LONGEST_SHARED / 10);
              for (const plan of plans) expect(Number(/rows=(\d+)/.exec(plan)?.[1] ?? 0)).toBeLessThanOrEqual(most);
            }
          }
        }
      });
    },
  );
});
