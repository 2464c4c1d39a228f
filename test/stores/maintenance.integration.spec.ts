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
  const finding = async (url: string) => (await checkStore(url)).find(({ name }) => name === 'database');

  it('warns of PostgreSQL without fsync', async () => {
    const server = (await newPostgres('fsync=off'))!;
    await server.start();
    const url = `postgres://postgres@127.0.0.1:${server.port}/postgres`;
    expect(await finding(url)).toMatchObject({ state: 'warn', advice: expect.stringContaining('fsync') });
    await server.remove();
  });

  it('fails on MariaDB that does not flush its log, and warns of a binary log that it does not flush', async () => {
    const server = (await newMariadb('--log-bin', '--sync-binlog=0'))!;
    await server.start();
    const url = `mariadb://root@127.0.0.1:${server.port}/mysql`;
    expect(await finding(url)).toMatchObject({ state: 'warn', advice: expect.stringContaining('sync_binlog') });
    await rawQuery(url, 'SET GLOBAL innodb_flush_log_at_trx_commit = 2');
    const found = expect.stringContaining('innodb_flush_log_at_trx_commit must be 1');
    expect(await finding(url)).toMatchObject({ state: 'fail', found });
    await server.remove();
  });
});
