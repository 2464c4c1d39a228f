import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { describeOnServers } from '../support/on-servers.js';
import { buildOther, buildProgram } from '../support/program.js';
import { freePort } from '../support/servers.js';
import { startReady } from '../support/start-ready.js';
import { TestStore } from '../support/stores.js';
import { RunningService, WorkingFolder } from '../support/working-folder.js';
import { KEY, Ledger, pause } from './ledger.js';
import { SECONDS } from './instances.js';

// Not a spec: `npm run test:cluster` runs it.

const OPTIONS = 'src/adapters/persistence/typeorm/data-source-options.ts';
const PET_TABLE = 'src/adapters/persistence/typeorm/pets/pet.schema.ts';

/** A build whose pets have one column more, which may be NULL. */
function addColumn(files: Map<string, string>): void {
  const replace = (path: string, from: string, to: string) => {
    const text = files.get(path) ?? '';
    if (!text.includes(from)) throw new Error(`${path} has no ${from}`);
    files.set(path, text.replace(from, to));
  };
  files.set(
    'src/adapters/persistence/typeorm/migrations/1900000000000-add-breed.ts',
    `import { QueryRunner, TableColumn } from 'typeorm';
    import { Migration } from '../schema-steps.js';
    export class AddBreed1900000000000 implements Migration {
      readonly isAddition = true;
      async up(runner: QueryRunner) {
        await runner.addColumn('pet', new TableColumn({ name: 'breed', type: 'varchar', length: '100', isNullable: true }));
      }
      async down(runner: QueryRunner) {
        await runner.dropColumn('pet', 'breed');
      }
    }`,
  );
  replace(OPTIONS, '[CreateTables1795132800000]', '[CreateTables1795132800000, AddBreed1900000000000]');
  replace(
    OPTIONS,
    'import',
    `import { AddBreed1900000000000 } from './migrations/1900000000000-add-breed.js';\nimport`,
  );
  replace(PET_TABLE, 'columns: {', `columns: {\n      breed: { type: 'varchar', length: 100, nullable: true },`);
}

describeOnServers('instances on $name that are upgraded one by one', (kind) => {
  let store: TestStore;
  let older: WorkingFolder;
  let newer: WorkingFolder;

  beforeAll(async () => {
    store = await kind.create();
    older = new WorkingFolder(buildProgram());
    newer = new WorkingFolder(buildOther('newer', addColumn));
  });

  afterAll(async () => {
    await older.remove();
    await newer.remove();
    rmSync(dirname(newer.program), { recursive: true });
    await store.remove();
  });

  it('work side by side, start again, and go forward and back', async () => {
    const ports = [await freePort(), await freePort()] as const;
    const variables = { NODE_ENV: 'production', LOG_LEVEL: 'warn', API_KEYS: KEY, DATABASE_URL: store.url };
    const running: RunningService[] = [];
    const start = async (at: 0 | 1, folder: WorkingFolder) => {
      if (running[at]) expect(await running[at].end('SIGTERM')).toBe(0);
      running[at] = await startReady(folder, ports[at], variables);
      await pause(SECONDS * 1_000);
    };
    await start(0, older);
    await start(1, older);
    const ledger = new Ledger(ports);
    ledger.start();
    // The first of the newer build changes the schema; the older one goes on, and starts again; then back, and forward for good.
    for (const [at, folder] of [
      [0, newer],
      [1, older],
      [1, newer],
      [0, older],
      [1, older],
      [0, newer],
      [1, newer],
    ] as const)
      await start(at, folder);
    await ledger.stop();
    await ledger.check();
    console.log(ledger.summary());
    expect(ledger.problems).toEqual([]);
    // None but to an instance that is not there.
    expect([...ledger.statuses.keys()].filter((what) => !/ (?:0|200|201)$/.test(what))).toEqual([]);
    const reverted = await newer.run(['migrate', 'revert'], { DATABASE_URL: store.url });
    expect(reverted).toMatchObject({ code: 0 });
    await start(0, older);
    for (const service of running) await service.end('SIGTERM');
  });
});
