import { expect, it } from '@jest/globals';
import { newMariadb } from '../support/servers.js';
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

it('the check of MariaDB fails if it does not flush its log', async () => {
  const server = (await newMariadb())!;
  await server.start();
  const url = `mariadb://root@127.0.0.1:${server.port}/mysql`;
  await rawQuery(url, 'SET GLOBAL innodb_flush_log_at_trx_commit = 2');
  const found = expect.stringContaining('innodb_flush_log_at_trx_commit must be 1');
  expect(await checkStore(url)).toMatchObject([{ name: 'database', state: 'fail', found }]);
  await server.remove();
});
