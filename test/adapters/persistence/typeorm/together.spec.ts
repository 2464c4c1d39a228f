import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import mysql from 'mysql2/promise';
import { Proxy } from '../../../support/proxy.js';
import { Service } from '../../../support/service.js';
import { newMariadb, TestServer } from '../../../support/servers.js';
import { openStoreAt } from '../../../support/stores.js';

const SMALL = '{"name":"Bella","categoryId":1}';
const LARGEST = `{"name":"${'🐕'.repeat(255)}","categoryId":-9223372036854775808,"status":"available"}`;

describe('pets that come together to a MariaDB', () => {
  let server: TestServer | undefined;
  let proxy: Proxy;
  let service: Service | undefined;

  beforeAll(async () => {
    server = await newMariadb();
    await server?.start();
    await say('CREATE DATABASE pets');
    // Behind it the error of a server that ends the connection seldom comes through, as on a network.
    if (server) proxy = await Proxy.open(server.port);
  }, 60_000);

  afterEach(async () => {
    await service?.stop();
    service = undefined;
  });

  afterAll(async () => {
    await proxy?.close();
    await server?.remove();
  });

  const say = async (sql: string): Promise<unknown> => {
    if (!server) return undefined;
    const root = await mysql.createConnection({ host: '127.0.0.1', port: server.port, user: 'root' });
    const answer = await root.query(sql);
    await root.end();
    return answer;
  };

  const start = async () => {
    const running = (service = await Service.start({ DATABASE_URL: `mariadb://root@127.0.0.1:${proxy.port}/pets` }));
    return { add: (pet: string) => running.add(pet) };
  };

  it.each([1_024, 65_536])('are stored if it takes them by parts only, in packets of %i bytes', async (bytes) => {
    if (!server) return;
    await say(`SET GLOBAL max_allowed_packet = ${bytes}`);
    const { add } = await start();
    const answers = await Promise.all(Array.from({ length: 300 }, () => add(LARGEST)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(new Set(answers.map(({ body }) => body)).size).toBe(300);
  });

  it('are stored once each, or not at all, if the server cannot do what it is asked beside the insertion', async () => {
    if (!server) return;
    // As MySQL, of which the ids of an insertion have to be asked for.
    const store = await openStoreAt(`mysql://root@127.0.0.1:${server.port}/pets?pool=1`);
    const bella = { name: 'Bella', categoryId: 1n, status: 'sold' } as const;
    const { pet: first } = await store.pets.add(bella);
    const [[count]] = (await say(`SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'`)) as [[{ Value: string }]];
    // One more statement can be prepared: the insertion of two pets, or what is asked beside it.
    await say(`SET GLOBAL max_prepared_stmt_count = ${Number(count.Value) + 1}`);
    const outcomes = await Promise.allSettled([store.pets.add(bella), store.pets.add(bella)]);
    const added = outcomes.filter((outcome) => outcome.status === 'fulfilled').map(({ value }) => value);
    await say('SET GLOBAL max_prepared_stmt_count = DEFAULT');
    const listed = (await store.pets.list({ limit: 100 })).filter(({ id }) => id > first.id);
    await store.close();
    expect(listed).toEqual(added.map(({ pet }) => pet).reverse());
  });

  it('are stored but for the one that a rule of the database refuses', async () => {
    if (!server) return;
    const { add } = await start();
    await say(`CREATE TRIGGER pets.rule BEFORE INSERT ON pets.pet FOR EACH ROW
      IF NEW.name = 'refused' THEN SIGNAL SQLSTATE '45000'; END IF`);
    const refused = SMALL.replace('Bella', 'refused');
    const pets = Array.from({ length: 60 }, (_, i) => add(i === 30 ? refused : SMALL));
    const statuses = (await Promise.all(pets)).map(({ status }) => status);
    expect(statuses.splice(30, 1)).toEqual([500]);
    expect(new Set(statuses)).toEqual(new Set([201]));
  });
});
