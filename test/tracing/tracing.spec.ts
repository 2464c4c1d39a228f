import Libsql from 'libsql';
import { sqlite } from '../support/stores.js';
import { describeTraces } from './traces.contract.js';

describeTraces(sqlite, async (url) => {
  const database = new Libsql(url.replace('sqlite:', ''));
  database.exec('DROP TABLE pet');
  database.close();
  return Promise.resolve();
});
