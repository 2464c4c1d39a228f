import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { StoreUnavailable } from '../../../../../src/application/errors.js';
import { PetQuery } from '../../../../../src/application/pets/pet-repository.port.js';
import { LastingUrl } from '../../../../../src/adapters/persistence/database-url.js';
import { Database } from '../../../../../src/adapters/persistence/typeorm/database.js';
import { Engine, Failure } from '../../../../../src/adapters/persistence/typeorm/engines/engine.js';
import { engineOf } from '../../../../../src/adapters/persistence/typeorm/open-database.js';
import {
  findOne,
  findTogether,
  isShareable,
  listOne,
  listTogether,
} from '../../../../../src/adapters/persistence/typeorm/pets/read-together.js';
import { TypeOrmPetRepository } from '../../../../../src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js';
import { Row, Statement } from '../../../../../src/adapters/persistence/typeorm/table.js';
import { readConfig } from '../../../../../src/config.js';
import { INT64_MAX, INT64_MIN } from '../../../../../src/domain/int64.js';
import { NewPet, Pet, PET_STATUSES } from '../../../../../src/domain/pets/pet.js';
import { History } from '../../../../support/history.js';
import { withParameter } from '../../../../support/sql.js';
import { lastingKinds, openStoreAt, StoreKind, TestStore } from '../../../../support/stores.js';

/** The kinds, and PostgreSQL as it is used behind a pooler that lends a connection for one transaction. */
const kinds: readonly StoreKind[] = lastingKinds.flatMap((kind) =>
  kind.name === 'PostgreSQL'
    ? [
        kind,
        {
          name: kind.name,
          create: async () => {
            const store = await kind.create();
            return { ...store, url: withParameter(store.url, 'pooler', 'transaction') };
          },
        },
      ]
    : [kind],
);

/** An id, and the `before` of a list, whose query the engine refuses. */
const BROKEN = 4_242_424_242_424_242n;

const statuses = fc.constantFrom(...PET_STATUSES);

/** What a list is asked for, of pets whose ids are small. */
const queries: fc.Arbitrary<PetQuery> = fc.record(
  {
    status: statuses,
    before: fc.oneof(fc.bigInt(0n, 60n), fc.constantFrom(INT64_MIN, INT64_MAX, 2n ** 53n + 1n)),
    limit: fc.oneof(fc.integer({ min: 1, max: 30 }), fc.constantFrom(101, 128, 129)),
  },
  { requiredKeys: ['limit'] },
);

const ids = fc.oneof(fc.bigInt(-2n, 60n), fc.constantFrom(INT64_MIN, INT64_MAX, 2n ** 32n + 1n));

/** What becomes of a question to the engine. */
type Fate = 'answered' | 'delayed' | 'refused' | Extract<Failure, 'lost' | 'busy' | 'unavailable'>;

const fates = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom<Fate>('answered', 'delayed') },
    { weight: 1, arbitrary: fc.constantFrom<Fate>('refused', 'lost', 'busy', 'unavailable') },
  ),
  { maxLength: 40 },
);

/** What is asked, as a text: the same for questions that one answer can serve, whatever prototype fast-check gave them. */
function textOf(operation: object): string {
  return JSON.stringify(operation, (name, value: unknown) =>
    typeof value === 'bigint' ? `${value}n` : name === 'limit' ? undefined : value,
  );
}

const NEVER = 'a question that is always refused';

describe.each(kinds)('the reads of pets on $name', (kind) => {
  let store: TestStore;
  let engine: Engine;
  let database: Database;
  let pets: TypeOrmPetRepository;
  let asked: string[];
  let script: Fate[];

  /** Answers as the engine does, unless the script, or the question, has it fail. */
  async function answer(statement: Statement, rows: (statement: Statement) => Promise<Row[]>): Promise<Row[]> {
    // What adds shares commits, and fails together; and the database is looked after besides.
    if (!/^\s*\(?SELECT[^]* FROM pet\b/.test(statement.sql)) return rows(statement);
    asked.push(statement.sql);
    const values = statement.values.flatMap((value) => String(value).split(/[{},]/));
    if (values.some((value) => value === String(BROKEN) || value === String(BROKEN - 1n))) throw new Error(NEVER);
    const fate = script.shift() ?? 'answered';
    if (fate === 'delayed') await new Promise((resolve) => setTimeout(resolve, 2));
    else if (fate !== 'answered') throw new Error(fate);
    return rows(statement);
  }

  beforeEach(async () => {
    store = await kind.create();
    const { database: url, databaseLimits } = readConfig({ DATABASE_URL: store.url });
    engine = await engineOf(url as LastingUrl, databaseLimits);
    const [rows, failure] = [engine.rows.bind(engine), engine.failure.bind(engine)];
    database = new Database(engine, () => undefined);
    await database.open();
    [asked, script] = [[], []];
    engine.rows = (statement) => answer(statement, rows);
    engine.row = async (statement) => (await answer(statement, rows))[0];
    engine.failure = (error) =>
      (['lost', 'busy', 'unavailable'] as const).find((each) => (error as Error).message === each) ?? failure(error);
    pets = new TypeOrmPetRepository(database);
  });

  afterEach(async () => {
    await database.close();
    await store.remove();
  });

  const add = async (count: number): Promise<Pet[]> => {
    const news = Array.from({ length: count }, (_, i): NewPet => ({
      name: `Pet ${i}`,
      categoryId: INT64_MAX - BigInt(i),
      status: PET_STATUSES[i % 3]!,
    }));
    return (await Promise.all(news.map((pet) => pets.add(pet)))).map(({ pet }) => pet);
  };

  it('answer alike, together and by queries of their own, whatever is asked', async () => {
    await add(150);
    const byStatus = fc
      .boolean()
      .chain((isOfStatus) =>
        fc.array(
          queries
            .map(({ status = 'sold', ...query }): PetQuery => (isOfStatus ? { ...query, status } : query))
            .filter(isShareable),
          { minLength: 1, maxLength: 32 },
        ),
      );
    await fc.assert(
      fc.asyncProperty(fc.array(ids, { minLength: 1, maxLength: 64 }), byStatus, async (idsAsked, listsAsked) => {
        expect(await findTogether(engine, idsAsked)).toEqual(
          await Promise.all(idsAsked.map((id) => findOne(engine, id))),
        );
        expect(await listTogether(engine, listsAsked)).toEqual(
          await Promise.all(listsAsked.map((query) => listOne(engine, query))),
        );
      }),
      { numRuns: 30 },
    );
  });

  it('are right or rejected, whatever is added, asked and fails meanwhile', async () => {
    const operation = fc.oneof(
      fc.record({ add: statuses }),
      fc.record({ find: ids }),
      fc.record({ list: queries }),
      fc.record({ pause: fc.integer({ min: 0, max: 2 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(operation, { maxLength: 60 }), fates, async (operations, given) => {
        const history = new History();
        // What is there from the runs before belongs to the history too.
        for (const pet of await pets.list({ limit: 100_000 })) history.note(pet);
        script = [...given];
        const under: Promise<unknown>[] = [];
        const begin = (asked: Promise<unknown>) => {
          // It may fail before all of them are begun.
          asked.catch(() => undefined);
          under.push(asked);
        };
        const questions = operations.filter((each) => !('pause' in each)).map(textOf);
        const refused = new Set<string>();
        for (const each of operations) {
          if ('add' in each) begin(history.add(pets, 'Bella', each.add));
          else if ('find' in each) begin(history.find(pets, each.find));
          else if ('list' in each) begin(history.list(pets, each.list));
          else await new Promise((resolve) => setTimeout(resolve, each.pause));
        }
        const outcomes = await Promise.allSettled(under);
        for (const [i, outcome] of outcomes.entries()) {
          if (outcome.status === 'fulfilled') continue;
          if (!(outcome.reason instanceof StoreUnavailable)) expect(outcome.reason).toEqual(new Error('refused'));
          refused.add(questions[i]!);
        }
        // Questions fail by themselves; those that one answer serves may share it, and so an error.
        const fatal = given.filter((fate) => fate === 'refused' || fate === 'unavailable' || fate === 'lost');
        expect(refused.size).toBeLessThanOrEqual(fatal.length);
        script = [];
        expect(history.contradiction()).toBeUndefined();
      }),
      { numRuns: 40 },
    );
  });

  it('fail alone if their own question is refused, and those that were asked with it are answered', async () => {
    const added = await add(40);
    const reads = [
      ...added.map(({ id }) => pets.find(id)),
      pets.find(BROKEN),
      ...PET_STATUSES.flatMap((status) => [3, 5, 7].map((limit) => pets.list({ status, limit }))),
      pets.list({ limit: 3 }),
      pets.list({ limit: 4, before: BROKEN }),
      pets.list({ limit: 5 }),
    ];
    const failed = (await Promise.allSettled(reads)).map(({ status }, i) => (status === 'rejected' ? i : -1));
    expect(failed.filter((i) => i >= 0)).toEqual([added.length, reads.length - 2]);
    await expect(pets.find(BROKEN)).rejects.toThrow(NEVER);
  });

  it('share the longest list of those from the same place, and get each as long as they asked', async () => {
    const added = (await add(20)).map(({ id }) => id).reverse();
    if (!engine.together) return;
    asked.length = 0;
    const limits = [3, 9, 1, 6, 9];
    const lists = await Promise.all(limits.map((limit) => pets.list({ limit })));
    expect(asked).toHaveLength(1);
    expect(lists.map((list) => list.map(({ id }) => id))).toEqual(limits.map((limit) => added.slice(0, limit)));
  });

  it('share their queries if they cost a round trip each, and are prepared from few texts', async () => {
    const added = await add(128);
    if (!engine.together) return;
    asked.length = 0;
    await Promise.all(added.map(({ id }) => pets.find(id)));
    expect(asked).toHaveLength(2);
    const lists = added.slice(0, 64).map(({ id }, i) => ({ limit: i + 1, before: id, status: PET_STATUSES[i % 3] }));
    await Promise.all(lists.map((query) => pets.list(query)));
    expect(asked).toHaveLength(4);
    for (let count = 1; count <= 64; count++) await Promise.all(added.slice(0, count).map(({ id }) => pets.find(id)));
    for (let count = 1; count <= 32; count++) {
      await Promise.all(lists.slice(0, count).map((query) => pets.list(query)));
      await Promise.all(lists.slice(0, count).map(({ limit, before }) => pets.list({ limit, before })));
    }
    expect(new Set(asked).size).toBeLessThanOrEqual(kind.name === 'MariaDB' ? 19 : 6);
  });
});

describe.each(kinds)('what two instances read on $name', (kind) => {
  it('is what one catalogue can have answered that does one thing after the other', async () => {
    const store = await kind.create();
    const stores = await Promise.all([openStoreAt(store.url), openStoreAt(store.url)]);
    const history = new History();
    let newest = 0n;
    const client = async (number: number): Promise<void> => {
      for (let i = 0; i < 20; i++) {
        const { pets } = stores[(number + i) % 2]!;
        const status = PET_STATUSES[i % 3]!;
        if (number % 4 === 0) {
          const { id } = await history.add(pets, `${number} ${i}`, status);
          if (id > newest) newest = id;
        } else if (number % 4 === 1) await history.find(pets, newest + BigInt(i % 4) - 1n);
        else if (number % 4 === 2) await history.list(pets, { limit: 100 });
        else await history.list(pets, { status, limit: 1 + (i % 5) });
      }
    };
    await Promise.all(Array.from({ length: 32 }, (_, number) => client(number)));
    for (const each of stores) await each.close();
    await store.remove();
    expect(history.contradiction()).toBeUndefined();
  });
});
