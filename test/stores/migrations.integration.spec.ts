import { expect, it } from '@jest/globals';
import { mariadb, openStoreAt, postgres } from '../support/stores.js';
import { describeMigrations } from './migrations.contract.js';
import { newPet } from '../support/pets.js';
import { rawQuery } from './raw-query.js';

describeMigrations(postgres);
describeMigrations(mariadb);

it('a migration on MariaDB that was interrupted before it was recorded is completed by the next start', async () => {
  const store = await mariadb.create();
  const first = await openStoreAt(store.url);
  const { pet } = await first.pets.add(newPet());
  await first.close();
  // Its statements commit one by one, so that a crash can leave all of them without the record.
  await rawQuery(store.url, 'DELETE FROM migrations ORDER BY timestamp DESC LIMIT 1');
  const second = await openStoreAt(store.url);
  expect(await second.pets.list({ limit: 2 })).toEqual([pet]);
  await second.close();
  await store.remove();
});
