import { expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { Failures } from '../../src/adapters/persistence/typeorm/consequences.js';
import { DIALECTS } from '../../src/adapters/persistence/typeorm/dialects/dialects.js';
import { IdsSkipped, NotUsable, RowsDiscarded } from '../../src/adapters/persistence/typeorm/failures.js';
import { DatabaseUnavailable, IdempotencyInProgress } from '../../src/application/errors.js';

const { postgres, sqlite } = DIALECTS;

const failed = (code: string) => new QueryFailedError('', undefined, Object.assign(new Error(code), { code }));

it.each([
  ['a conflict', failed('40001'), 5],
  ['a table that is locked', failed('55P03'), 5],
  ['a wrong password', failed('28P01'), 'give up'],
  ['a lost connection', failed('08006'), 'give up'],
  ['a database that cannot be used', new NotUsable('It is read-only.'), 'give up'],
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
])('before the first statement, %s is no fault of a request', (_what, error, expected) => {
  expect(new Failures(postgres, 'autocommit').consequenceOf(error, false)).toBe(expected);
});

it('a server that cannot be reached is tried again, ever later, however many conflicts there were', () => {
  const failures = new Failures(postgres, 'autocommit');
  for (let i = 0; i < 10; i++) failures.consequenceOf(failed('40001'), true);
  const pauses = Array.from({ length: 7 }, () => failures.consequenceOf(failed('08006'), false));
  expect(pauses).toEqual([50, 100, 200, 400, 800, 1_000, 1_000]);
  expect(new Failures(sqlite, 'transaction').consequenceOf(failed('SQLITE_FULL'), false)).toBe('give up');
});

it('a read is tried again three times, however often its server could not be reached', () => {
  const failures = new Failures(postgres, 'read');
  for (let i = 0; i < 5; i++) failures.consequenceOf(failed('08006'), false);
  const outcomes = Array.from({ length: 4 }, () => failures.consequenceOf(failed('08006'), true));
  expect(outcomes).toEqual([50, 50, 50, 'give up']);
});

it('ids are skipped three times, however many conflicts there were', () => {
  const failures = new Failures(postgres, 'autocommit');
  for (let i = 0; i < 10; i++) failures.consequenceOf(failed('40001'), true);
  const outcomes = Array.from({ length: 4 }, () => failures.consequenceOf(new IdsSkipped(), true));
  expect(outcomes).toEqual([5, 5, 5, 'split']);
});
