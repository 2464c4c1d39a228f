import { describe, expect, it } from '@jest/globals';
import { newMariadb, newPostgres } from '../support/servers.js';
import { mariadb, postgres, sqlite } from '../support/stores.js';
import { checkStore } from './maintenance.js';
import { describeCheck, describeCopy } from './maintenance.contract.js';
import { rawQuery } from './raw-query.js';

// Each kind is a source once and a target once.
describeCopy(sqlite, postgres);
describeCopy(postgres, mariadb);
describeCopy(mariadb, sqlite);
describeCheck(postgres);
describeCheck(mariadb);

describe('the check of a server whose configuration is not safe', () => {
  const durability = async (url: string) => (await checkStore(url)).find(({ name }) => name === 'durability');

  it('fails on PostgreSQL without fsync', async () => {
    const server = (await newPostgres('fsync=off'))!;
    await server.start();
    const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
    expect(await durability(url)).toMatchObject({ state: 'fail', found: expect.stringContaining('fsync=off') });
    await server.remove();
  });

  it('fails on MariaDB that does not flush its log, and warns of a binary log that it does not flush', async () => {
    const server = (await newMariadb('--log-bin', '--sync-binlog=0'))!;
    await server.start();
    const url = `mariadb://root@127.0.0.1:${server.port}/mysql`;
    expect(await durability(url)).toMatchObject({ state: 'warn', advice: expect.stringContaining('sync_binlog') });
    await rawQuery(url, 'SET GLOBAL innodb_flush_log_at_trx_commit = 2');
    const advice = expect.stringContaining('innodb_flush_log_at_trx_commit');
    expect(await durability(url)).toMatchObject({ state: 'fail', advice });
    await server.remove();
  });
});
