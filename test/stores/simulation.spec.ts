import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import fc from 'fast-check';
import { QueryFailedError, type EntityManager } from 'typeorm';
import type { Database } from '../../src/adapters/persistence/typeorm/database.js';
import { DIALECTS } from '../../src/adapters/persistence/typeorm/dialects/dialects.js';
import { DatabaseUnavailable, IdempotencyInProgress, IdempotencyKeyReused } from '../../src/application/errors.js';
import { IdsSkipped } from '../../src/adapters/persistence/typeorm/failures.js';
import type { Added } from '../../src/application/pets/pet-repository.port.js';
import { VirtualClock } from '../support/virtual-clock.js';

const clock = new VirtualClock();
jest.unstable_mockModule('node:timers/promises', () => clock.promises);

const { DatabaseState } = await import('../../src/adapters/persistence/typeorm/database-state.js');
const { Executor } = await import('../../src/adapters/persistence/typeorm/executor.js');
const { TypeOrmPetRepository } = await import('../../src/adapters/persistence/typeorm/pets/typeorm-pet.repository.js');
const { withTimeout } = await import('../../src/adapters/persistence/timeout.js');

const HOUR = 3_600_000;
/** The 24 hours for which an idempotency key is promised to be kept. */
const LIFETIME = 24 * HOUR;
const SECOND = 1_000;

/** Why a valid pet may be rejected. */
const REASONS = [DatabaseUnavailable, IdempotencyInProgress, IdempotencyKeyReused, IdsSkipped];

const MAX_WAITING = 40;
const STATEMENT_TIMEOUT = 600;
/** Within what time a request must be answered, whatever the database does: 3 s for a connection, and the limit above. */
const DEADLINE = 3 * SECOND + STATEMENT_TIMEOUT;

/** What happens to a statement, after so many milliseconds: it is executed or not, and answered, failed or neither. */
interface Fate {
  readonly outcome:
    | 'answered'
    | 'executed, then lost'
    | 'executed, never answered'
    | 'lost before'
    | 'never executed'
    | 'conflict'
    | 'locked'
    | 'duplicate id';
  readonly delay: number;
}

/** What clients do, one after the other. */
type Step =
  | { readonly what: 'create'; readonly key: number | undefined; readonly other: boolean; readonly faulty: boolean }
  | { readonly what: 'read' }
  | { readonly what: 'wait'; readonly time: number }
  | { readonly what: 'go down' | 'come up' };

const fates: fc.Arbitrary<Fate> = fc.record({
  outcome: fc.oneof(
    { weight: 12, arbitrary: fc.constant('answered' as const) },
    fc.constantFrom(
      'executed, then lost',
      'executed, never answered',
      'lost before',
      'never executed',
      'conflict',
      'locked',
      'duplicate id' as const,
    ),
  ),
  delay: fc.oneof({ weight: 6, arbitrary: fc.nat(20) }, fc.nat(3_000)),
});

const steps: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.record({
      what: fc.constant('create' as const),
      key: fc.option(fc.nat(4), { nil: undefined }),
      other: fc.boolean(),
      faulty: fc.integer({ max: 9, min: 0 }).map((dice) => dice === 9),
    }),
  },
  { weight: 4, arbitrary: fc.constant({ what: 'read' as const }) },
  {
    weight: 4,
    arbitrary: fc.record({
      what: fc.constant('wait' as const),
      time: fc.oneof(fc.nat(3), fc.nat(100), fc.nat(5_000), fc.constantFrom(HOUR, 12 * HOUR)),
    }),
  },
  fc.record({ what: fc.constantFrom('go down' as const, 'come up' as const) }),
);

interface Row {
  readonly id: bigint;
  readonly name: string;
  request_key: string | null;
  readonly createdAt: number;
  requested_at: number | null;
  replays: number;
}

const failure = (code: string, where = '') =>
  new QueryFailedError('', undefined, Object.assign(new Error(code), { code, where }));

/** A PostgreSQL of which only the table `pet` exists, whose statements meet these fates. */
class SimulatedServer {
  readonly rows: Row[] = [];
  isUp = true;
  private next = 0;

  constructor(public fates: readonly Fate[]) {}

  readonly manager = {
    dataSource: {
      options: { type: 'postgres' },
      driver: { createParameter: (_name: string, index: number) => `$${index + 1}` },
    },
    query: (sql: string, parameters: unknown[] = []) =>
      new Promise((resolve, reject) => {
        const isInsert = sql.includes('INSERT INTO pet');
        const { outcome, delay } = this.fates[this.next++ % this.fates.length]!;
        setTimeout(() => {
          if (!this.isUp || outcome === 'lost before') return reject(failure('08006'));
          if (outcome === 'conflict') return reject(failure('40001'));
          if (outcome === 'locked')
            return reject(failure('55P03', 'while inserting index tuple (0,1) in relation "pet"'));
          if (outcome === 'duplicate id' && isInsert) return reject(failure('23505'));
          if (isInsert && String(parameters[0]).includes('"faulty')) return reject(failure('23514'));
          if (outcome === 'never executed') return;
          const result = this.execute(sql, parameters);
          if (outcome === 'answered' || outcome === 'duplicate id') resolve(result);
          else if (outcome !== 'executed, never answered') reject(failure('08006'));
        }, delay);
      }),
  };

  private execute(sql: string, [first]: unknown[]): unknown[] {
    // In any order, as SQL allows: the latest first.
    if (sql.includes('INSERT INTO pet'))
      return (JSON.parse(first as string) as Row[]).map((sent) => this.insert(sent)).reverse();
    if (sql.startsWith('SELECT setval')) return [];
    const lifetime = /requested_at <= .*- (\d+)/.exec(sql)?.[1];
    if (lifetime !== undefined)
      return this.rows.filter(({ requested_at: at }) => at !== null && at <= clock.now - Number(lifetime));
    const found = this.rows.filter(({ id }) => (first as bigint[]).includes(id));
    if (sql.startsWith('SELECT')) return found.map((row) => ({ ...row, category_id: 1n, status: 'sold' }));
    for (const row of found) Object.assign(row, { request_key: null, requested_at: null });
    return [];
  }

  private insert(sent: Row): Row {
    const stored =
      sent.request_key === null ? undefined : this.rows.find((row) => row.request_key === sent.request_key);
    if (!stored) {
      const requested_at = sent.request_key === null ? null : clock.now;
      const row = { ...sent, id: BigInt(this.rows.length + 1), requested_at, createdAt: clock.now, replays: 0 };
      this.rows.push(row);
      return { ...row };
    }
    stored.replays++;
    if (stored.requested_at! <= clock.now - LIFETIME) stored.request_key = null;
    return { ...stored };
  }
}

/** A request and, once it has ended, how. */
interface Sent {
  readonly name: string;
  readonly key: number | undefined;
  readonly at: number;
  added?: Added;
  error?: unknown;
  endedAt?: number;
}

/** Has clients take these steps, and throws at the first broken promise. */
async function simulate(script: readonly Step[], fateOfEach: readonly Fate[]): Promise<void> {
  clock.reset();
  const server = new SimulatedServer(fateOfEach);
  const connect = () => (server.isUp ? Promise.resolve() : Promise.reject(failure('08006')));
  const state = new DatabaseState(connect, () => undefined);
  const database = {
    dialect: DIALECTS.postgres,
    // As `Database.run`: it opens the database, and waits for a statement until the deadline.
    run: async (_kind: string, work: (manager: EntityManager) => Promise<unknown>, deadline: number) => {
      await state.open();
      if (!server.isUp) throw failure('08006');
      return withTimeout(deadline - performance.now(), work(server.manager as unknown as EntityManager));
    },
    unavailable: (error: Error) => new DatabaseUnavailable(error.message),
    logFailure: (error: DatabaseUnavailable) => state.logFailure(error),
  };
  const executor = new Executor(database as unknown as Database, { STATEMENT_TIMEOUT, MAX_WAITING });
  const pets = new TypeOrmPetRepository(executor, () => undefined);
  const sent: Sent[] = [];
  const reading: Promise<void>[] = [];

  const create = (key: number | undefined, other = false, faulty = false): Sent => {
    const name = faulty
      ? `faulty ${sent.length}`
      : key === undefined
        ? `Pet ${sent.length}`
        : `Pet of ${key}${other ? ', another' : ''}`;
    const request: Sent = { name, key, at: clock.now };
    const keyed = key === undefined ? undefined : { scope: 'a', key: `key-${key}`, fingerprint: name };
    pets
      .add({ name, categoryId: 1n, status: 'sold' }, keyed)
      .then(
        (added) => (request.added = added),
        (error: unknown) => (request.error = error),
      )
      .finally(() => (request.endedAt = clock.now));
    sent.push(request);
    return request;
  };
  const read = (): void => {
    const { added } = sent.findLast((request) => request.added) ?? {};
    if (!added) return;
    const reads = pets.find(added.pet.id).then(
      (found) => expect(found?.name).toBe(added.pet.name),
      (error: unknown) => expect(error).toBeInstanceOf(DatabaseUnavailable),
    );
    reading.push(reads);
  };

  for (const step of script) {
    if (step.what === 'create') create(step.key, step.other, step.faulty);
    else if (step.what === 'read') read();
    else if (step.what === 'wait') await clock.pass(step.time);
    else server.isUp = step.what === 'come up';
  }
  server.isUp = true;
  await clock.pass(2 * DEADLINE);
  await Promise.all(reading);

  for (const { name, key, at, added, error, endedAt } of sent) {
    // Nothing waits beyond its deadline.
    expect(endedAt).toBeLessThanOrEqual(at + DEADLINE + 1);
    // A valid pet never gets the error of a faulty one in its batch.
    if (error !== undefined)
      expect([name, REASONS.some((type) => error instanceof type) || name.startsWith('faulty')]).toEqual([name, true]);
    // What was acknowledged is stored.
    if (added) expect(server.rows.filter(({ id }) => id === added.pet.id)).toMatchObject([{ name }]);
    else if (error instanceof IdempotencyKeyReused) expect(key).toBeDefined();
    // A create without a key is never stored twice.
    if (key === undefined) expect(server.rows.filter((row) => row.name === name).length).toBeLessThanOrEqual(1);
  }
  // One key is one pet in 24 hours.
  for (const key of new Set(sent.flatMap((request) => request.key ?? []))) {
    const createdAt = server.rows.filter(({ name }) => name.startsWith(`Pet of ${key}`)).map((row) => row.createdAt);
    for (const [i, at] of createdAt.slice(1).entries()) expect(at - createdAt[i]!).toBeGreaterThanOrEqual(LIFETIME);
  }

  // All is released at the end: as many requests as may wait are admitted, and answered.
  server.fates = [{ outcome: 'answered', delay: 1 }];
  const last = Array.from({ length: MAX_WAITING }, () => create(undefined));
  await clock.pass(SECOND);
  expect(last.map(({ added }) => added?.replayed)).toEqual(last.map(() => false));
  pets.close();
}

beforeAll(() => {
  clock.install();
  // Jest keeps 100 frames of each error: half of the time of a simulation in which every second statement fails.
  Error.stackTraceLimit = 0;
});
afterAll(() => clock.uninstall());

it('requests on a database that fails, delays or never answers are answered in time, and nothing is stored twice', async () => {
  const script = fc.array(steps, { minLength: 10, maxLength: 120 });
  const fateOfEach = fc.array(fates, { minLength: 1, maxLength: 40 });
  // A million timers. A failure prints its seed, and the shortest script that fails.
  await fc.assert(fc.asyncProperty(script, fateOfEach, simulate), { numRuns: 1_500 });
}, 300_000);
