import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Libsql from 'libsql';
import { Service } from '../../../support/service.js';

const BELLA = { name: 'Bella', categoryId: 1 };

describe('a file of SQLite that is taken away below the service', () => {
  let folder: string;
  let file: string;
  let log: string[];
  let service: Service;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    mkdirSync(join(folder, 'data'));
    file = join(folder, 'data', 'pets.sqlite');
    log = [];
    const variables = { DATABASE_URL: `sqlite:${file}`, LOG_LEVEL: 'warn', NODE_ENV: 'production' };
    service = await Service.start(variables, (line) => log.push(line));
    expect((await service.add(BELLA)).status).toBe(201);
  });

  afterEach(async () => {
    await service.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const statuses = async () => [
    (await service.send('/health/ready', { key: false })).status,
    (await service.send('/v1/pets')).status,
    (await service.add(BELLA)).status,
  ];
  const away = (end = '') => join(folder, `away.sqlite${end}`);
  /** What the log says besides the lines of the requests. */
  const warnings = () =>
    log.map((line) => JSON.parse(line) as { part?: string; msg: string }).filter(({ part }) => part === 'petstore');

  it.each([
    ['deleted', () => rmSync(file)],
    ['moved', () => renameSync(file, away())],
    ['deleted with its folder', () => rmSync(join(folder, 'data'), { recursive: true })],
    ['moved with its folder', () => renameSync(join(folder, 'data'), join(folder, 'elsewhere'))],
    ['replaced', () => (writeFileSync(away(), ''), renameSync(away(), file))],
    ['without its log', () => rmSync(`${file}-wal`)],
  ])('is %s: nothing is acknowledged, all is 503, and the log says so once', async (_how, take) => {
    take();
    expect((await service.add(BELLA)).status).toBe(503);
    expect(await statuses()).toEqual([503, 503, 503]);
    expect(await statuses()).toEqual([503, 503, 503]);
    expect(warnings().map(({ msg }) => msg)).toEqual([
      `The file ${file}, or its -wal, is not the one that was opened: it was deleted, moved or replaced below the service. ` +
        'Put it back, or stop the service, put the right one there and start it.',
    ]);
  });

  it('is found out without a question too', async () => {
    rmSync(file);
    const deadline = Date.now() + 10_000;
    while (warnings().length === 0 && Date.now() < deadline) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await statuses()).toEqual([503, 503, 503]);
  });

  it('is served again once it is back, with all that was acknowledged', async () => {
    renameSync(file, away());
    expect(await statuses()).toEqual([503, 503, 503]);
    renameSync(away(), file);
    expect(await statuses()).toEqual([200, 200, 201]);
    expect(warnings()[1]?.msg).toBe('The database is the one that was opened again; the service is ready.');
    expect(JSON.parse((await service.send('/v1/pets')).body)).toHaveLength(2);
  });

  it('has all that was acknowledged, wherever it is, and spoils nothing that is in its place', async () => {
    for (let i = 0; i < 50; i++) await service.add(BELLA);
    copyFileSync(file, away('.other'));
    const other = new Libsql(away('.other'));
    other.exec(`PRAGMA journal_mode = DELETE; CREATE TABLE other (x); INSERT INTO other VALUES ('mine')`);
    other.close();
    renameSync(file, away());
    renameSync(away('.other'), file);
    // What comes before anybody has looked is not written either: its log would be that of the file in its place.
    for (let i = 0; i < 3; i++) expect((await service.add(BELLA)).status).toBe(503);
    expect(statSync(`${file}-wal`).size).toBe(0);
    expect(await statuses()).toEqual([503, 503, 503]);
    expect(statSync(`${file}-wal`).size).toBe(0);
    await service.stop();
    for (const [path, sql, rows] of [
      [away(), 'SELECT count(*) FROM pet', [[51]]],
      [file, 'SELECT x FROM other', [['mine']]],
    ] as const) {
      const found = new Libsql(path);
      expect([path, found.prepare('PRAGMA integrity_check').raw().all()]).toEqual([path, [['ok']]]);
      expect([path, found.prepare(sql).raw().all()]).toEqual([path, rows]);
      found.close();
    }
    expect(readdirSync(join(folder, 'data'))).toContain('pets.sqlite');
    service = await Service.start({});
  });
});
