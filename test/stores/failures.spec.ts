import { expect, it } from '@jest/globals';
import { QueryFailedError } from 'typeorm';
import { DIALECTS } from '../../src/adapters/persistence/typeorm/dialects/dialects.js';
import { failureOf } from '../../src/adapters/persistence/typeorm/failures.js';

// A server gives these only if no account matches the address of the client, or if a password has expired.
it.each([1130, 1820, 1862])("MariaDB's error %i is for the operator to mend", (errno) => {
  const error = Object.assign(new Error('Rejected.'), { code: 'ER_X', errno, sqlState: 'HY000' });
  expect(failureOf(DIALECTS.mariadb, new QueryFailedError('CONNECT', undefined, error))).toBe('misconfigured');
});

// Some poolers reject a connection with it when they are full.
it("PostgreSQL's XX000 is the fault of a statement, but not in the place of one", () => {
  const error = Object.assign(new Error('Rejected.'), { code: 'XX000' });
  const meaning = (query: string) => failureOf(DIALECTS.postgres, new QueryFailedError(query, undefined, error));
  expect([meaning('SELECT 1'), meaning('CONNECT')]).toEqual([undefined, 'unavailable']);
});

it("a server's demand for encryption is for the operator to mend, but a statement may repeat such words", () => {
  const error = Object.assign(new Error('Bad value "no encryption".'), { code: '22P02' });
  const meaning = (query: string) => failureOf(DIALECTS.postgres, new QueryFailedError(query, undefined, error));
  expect([meaning('SELECT 1'), meaning('CONNECT')]).toEqual([undefined, 'misconfigured']);
});

it.each([
  ['rowLocked', 'while inserting index tuple (0,1) in relation "pet"'],
  ['rowLocked', 'beim Einfügen von Indextupel (0,1) in Relation »pet«'],
  ['conflict', 'while inserting index tuple (0,1) in relation "pet_pkey"'],
  ['conflict', ''],
])('a lock of PostgreSQL is %s by its context, in any language: %s', (failure, where) => {
  const error = Object.assign(new Error('Timeout.'), { code: '55P03', where });
  expect(failureOf(DIALECTS.postgres, new QueryFailedError('INSERT', undefined, error))).toBe(failure);
});
