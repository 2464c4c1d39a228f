import { expect, it } from '@jest/globals';
import { LastingUrl } from '../../../../../src/adapters/persistence/database-url.js';
import { Failure, isUnavailable } from '../../../../../src/adapters/persistence/typeorm/engines/engine.js';
import { primaryMoved } from '../../../../../src/adapters/persistence/typeorm/engines/primary.js';
import { engineOf } from '../../../../../src/adapters/persistence/typeorm/open-database.js';
import { readConfig } from '../../../../../src/config.js';

/** What an error that has this code, number or message says. */
type Case = readonly [error: object, failure: Failure | undefined];

const ERRORS: Readonly<Record<string, readonly Case[]>> = {
  'sqlite:x.sqlite': [
    [{ code: 'SQLITE_CONSTRAINT_PRIMARYKEY' }, 'duplicate'],
    [{ code: 'SQLITE_CONSTRAINT_UNIQUE' }, 'duplicate'],
    [{ code: 'SQLITE_CONSTRAINT_NOTNULL' }, undefined],
    [{ code: 'SQLITE_BUSY_SNAPSHOT' }, 'busy'],
    [{ code: 'SQLITE_LOCKED' }, 'unavailable'],
    [{ code: 'SQLITE_IOERR_WRITE' }, 'unavailable'],
    [{ code: 'SQLITE_ERROR' }, undefined],
  ],
  'postgres://me@host/pets': [
    [{ code: '23505' }, 'duplicate'],
    [{ code: '23502' }, undefined],
    [{ code: '40001' }, 'busy'],
    [{ code: '40P01' }, 'busy'],
    [{ code: '40003' }, 'unavailable'],
    [{ code: '55P03' }, 'unavailable'],
    [{ code: '55P03', where: 'while inserting index tuple (0,7) in relation "idempotency_key"' }, 'locked'],
    [{ code: '42501' }, 'unavailable'],
    [{ code: '55000' }, 'unavailable'],
    [{ code: '55006' }, undefined],
    [{ code: '25006' }, 'unavailable'],
    [{ code: '25P02' }, undefined],
    [{ code: '25P03' }, 'lost'],
    [{ code: '25P04' }, 'lost'],
    [{ code: '57P01' }, 'lost'],
    [{ code: '57P04' }, 'unavailable'],
    [{ code: '57P05' }, 'lost'],
    [{ code: '57014' }, 'unavailable'],
    [{ code: '08006' }, 'lost'],
    [{ code: 'ECONNREFUSED' }, 'lost'],
    [primaryMoved(), 'lost'],
    [{ code: 'CERT_HAS_EXPIRED' }, 'unavailable'],
    [{ message: 'Connection terminated unexpectedly' }, 'lost'],
    [{ message: 'Connection terminated due to connection timeout' }, 'lost'],
    [{ message: 'Received unexpected copyData message from backend.' }, 'lost'],
    [{ message: 'received invalid response: 48' }, 'lost'],
    [{ message: 'timeout exceeded when trying to connect' }, 'unavailable'],
    [{ code: '42601', message: 'Connection terminated unexpectedly' }, undefined],
  ],
  'mariadb://me@host/pets': [
    [{ errno: 1062, code: 'ER_DUP_ENTRY' }, 'duplicate'],
    [{ errno: 1050, code: 'ER_TABLE_EXISTS_ERROR' }, 'duplicate'],
    [{ errno: 1048, code: 'ER_BAD_NULL_ERROR' }, undefined],
    [{ errno: 1020, code: 'ER_CHECKREAD' }, 'busy'],
    [{ errno: 1213, code: 'ER_LOCK_DEADLOCK' }, 'busy'],
    [{ errno: 1205, code: 'ER_LOCK_WAIT_TIMEOUT' }, 'locked'],
    [{ errno: 1142, code: 'ER_TABLEACCESS_DENIED_ERROR' }, 'unavailable'],
    [{ errno: 1153, code: 'ER_NET_PACKET_TOO_LARGE' }, undefined],
    [{ errno: 1053, code: 'ER_SERVER_SHUTDOWN' }, 'lost'],
    [{ errno: 1290, code: 'ER_OPTION_PREVENTS_STATEMENT' }, 'unavailable'],
    [{ errno: 1047, code: 'ER_UNKNOWN_COM_ERROR' }, 'lost'],
    [{ errno: 1180, code: 'ER_ERROR_DURING_COMMIT' }, 'lost'],
    [{ errno: -111, code: 'ECONNREFUSED' }, 'lost'],
    [primaryMoved(), 'lost'],
    [{ code: 'PROTOCOL_CONNECTION_LOST', fatal: true }, 'lost'],
    [{ message: 'Pool is closed.' }, 'lost'],
    [{ code: 'POOL_TIMEOUT' }, 'unavailable'],
  ],
};

it.each(Object.entries(ERRORS))(
  'an engine of %s knows what an error says, in TypeORM’s or alone',
  async (url, cases) => {
    const { database, databaseLimits } = readConfig({ DATABASE_URL: url });
    const engine = await engineOf(database as LastingUrl, databaseLimits);
    for (const [error, failure] of [...cases, [new Error('x'), undefined], [undefined, undefined]] as const) {
      for (const each of [error, { driverError: error }]) {
        expect({ error: each, failure: engine.failure(each) }).toEqual({ error: each, failure });
      }
    }
  },
);

it('a database cannot answer now if it is unavailable, lost, busy or locked', () => {
  const failures = ['unavailable', 'lost', 'busy', 'locked', 'duplicate', undefined] as const;
  expect(failures.map(isUnavailable)).toEqual([true, true, true, true, false, false]);
});
