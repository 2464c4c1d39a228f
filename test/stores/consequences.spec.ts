import { expect, it, jest } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { Failures, heldPause } from '../../src/adapters/persistence/typeorm/consequences.js';
import { DIALECTS } from '../../src/adapters/persistence/typeorm/dialects/dialects.js';
import { IdsSkipped, NotUsable, RowsDiscarded } from '../../src/adapters/persistence/typeorm/failures.js';
import { DatabaseUnavailable, IdempotencyInProgress } from '../../src/application/errors.js';

const { postgres, sqlite } = DIALECTS;

const failed = (code: string, where = '') =>
  new QueryFailedError('', undefined, Object.assign(new Error(code), { code, where }));

it.each([
  ['a conflict', failed('40001'), 5],
  ['a table that is locked', failed('55P03'), 5],
  ['a row that is locked', failed('55P03', 'while inserting index tuple (0,1) in relation "pet"'), 50],
  ['a wrong password', failed('28P01'), 'give up'],
  ['a lost connection', failed('08006'), 'give up'],
  ['a wrong value', failed('22001'), 'split'],
  ['a held key', new IdempotencyInProgress(), 'split'],
  ['discarded rows', new RowsDiscarded(), 'split'],
  ['a deadline', new DatabaseUnavailable(), 'reject'],
  ['a fault of the program', new TypeError(), 'reject'],
])('of a write that has begun, %s leads to what the table says', (_what, error, expected) => {
  expect(new Failures(postgres, 'autocommit').consequenceOf(error, true)).toBe(expected);
});

it.each([
  ['a database that cannot be used', new NotUsable('It is read-only.'), 'give up'],
  ['a fault of the program', new TypeError(), 'give up'],
  ['a wrong statement', failed('42601'), 'give up'],
  ['a full disk', failed('SQLITE_FULL'), 'give up', sqlite],
])('before the first statement, %s is no fault of a request', (_what, error, expected, dialect = postgres) => {
  expect(new Failures(dialect, 'autocommit').consequenceOf(error, false)).toBe(expected);
});

it('a server that cannot be reached is tried again, ever later, however many conflicts there were', () => {
  const failures = new Failures(postgres, 'autocommit');
  for (let i = 0; i < 10; i++) failures.consequenceOf(failed('40001'), true);
  const pauses = Array.from({ length: 7 }, () => failures.consequenceOf(failed('08006'), false));
  expect(pauses).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
});

it('a read is tried again three times, however often its server could not be reached', () => {
  const failures = new Failures(postgres, 'read');
  for (let i = 0; i < 5; i++) failures.consequenceOf(failed('08006'), false);
  const outcomes = Array.from({ length: 4 }, () => failures.consequenceOf(failed('08006'), true));
  expect(outcomes).toEqual([50, 50, 50, 'give up']);
});

it('work is tried again three times after ids were skipped, however many conflicts there were', () => {
  const failures = new Failures(postgres, 'autocommit');
  for (let i = 0; i < 10; i++) failures.consequenceOf(failed('40001'), true);
  const outcomes = Array.from({ length: 4 }, () => failures.consequenceOf(new IdsSkipped(), true));
  expect(outcomes).toEqual([5, 5, 5, 'split']);
});

it('a request whose idempotency key is in use is tried again for a second and a half', () => {
  const clock = jest.spyOn(performance, 'now').mockReturnValue(11_500);
  expect(heldPause(new IdempotencyInProgress(), 10_000)).toBe(50);
  expect(heldPause(new DatabaseUnavailable(), 10_000)).toBeUndefined();
  clock.mockReturnValue(11_501);
  expect(heldPause(new IdempotencyInProgress(), 10_000)).toBeUndefined();
  clock.mockRestore();
});
