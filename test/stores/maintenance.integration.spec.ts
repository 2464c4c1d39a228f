import { describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Finding } from '../../src/application/finding.js';
import { freshFolder } from '../support/fresh-folder.js';
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

describe('petstore', () => {
  const folder = freshFolder();

  const run = async (...args: string[]) => {
    const outcome = await folder().run(args);
    expect(outcome).toMatchObject({ code: 0, err: '' });
    return outcome.out;
  };

  /** Starts a command, and kills it after so many milliseconds unless it ends before. */
  async function kill(after: number, ...args: string[]): Promise<void> {
    const program = join(folder().program, 'src/main.js');
    const child = spawn(process.execPath, [program, ...args], { cwd: folder().path, stdio: 'ignore' });
    const timer = setTimeout(() => child.kill('SIGKILL'), after);
    await once(child, 'close');
    clearTimeout(timer);
  }

  it('backup and restore leave the old state or the complete new one, whenever they are killed', async () => {
    await run('seed', '--count', '20000');
    await run('backup', 'good.sqlite');
    await run('seed', '--count', '1');
    const counts = { old: '20001', new: '20000' };
    const count = async (file: string) =>
      String(await rawQuery(`sqlite:${join(folder().path, file)}`, 'SELECT count(*) FROM pet'));
    for (const after of [200, 300, 400, 500]) {
      await kill(after, 'backup', `killed-${after}.sqlite`);
      const made = readdirSync(folder().path).includes(`killed-${after}.sqlite`);
      if (made) expect(await count(`killed-${after}.sqlite`)).toBe(counts.old);
    }
    for (const after of [200, 300, 400, 500]) {
      await kill(after, 'restore', 'good.sqlite');
      expect(Object.values(counts)).toContain(await count('data/petstore.sqlite'));
    }
    await run('restore', 'good.sqlite');
    expect(await count('data/petstore.sqlite')).toBe(counts.new);
  });

  it.each(['1', '2'])('restore is rejected while %s idle processes serve', async (processes) => {
    const service = await folder().serve({ WEB_CONCURRENCY: processes });
    await run('backup', 'a.sqlite');
    const bella = await service.add(service.key!, { name: 'Bella', categoryId: 1 });
    expect(await folder().run(['restore', 'a.sqlite'])).toMatchObject({ code: 1, out: '' });
    expect(await (await service.send(service.key!)).text()).toBe(`[${bella}]`);
    expect(await service.end('SIGTERM')).toBe(0);
    expect(readdirSync(join(folder().path, 'data'))).toEqual(['petstore.sqlite']);
  });

  it('backup has every pet that was acknowledged before it began, while 32 clients write', async () => {
    const service = await folder().serve();
    const acknowledged: number[] = [];
    let done = false;
    const client = async () => {
      while (!done) {
        const pet = await service.add(service.key!, { name: 'Bella', categoryId: 1 });
        acknowledged.push((JSON.parse(pet) as { id: number }).id);
      }
    };
    const clients = Array.from({ length: 32 }, client);
    for (let i = 0; i < 3; i++) {
      const before = [...acknowledged];
      await run('backup', `${i}.sqlite`);
      const url = `sqlite:${join(folder().path, `${i}.sqlite`)}`;
      const ids = new Set((await rawQuery(url, 'SELECT id FROM pet')).map(([id]) => id));
      expect(before.filter((id) => !ids.has(id))).toEqual([]);
    }
    done = true;
    await Promise.all(clients);
  });

  it.each([
    ['postgres', 'pg_dump'],
    ['mariadb', 'mariadb-dump'],
  ])('backup and restore name the tools of %s', async (scheme, tool) => {
    for (const command of ['backup', 'restore']) {
      const { code, err } = await folder().run([command, 'a'], { DATABASE_URL: `${scheme}://x@127.0.0.1:1/x` });
      expect([code, err]).toEqual([1, expect.stringContaining(tool)]);
    }
  });

  it('backup, restore and copy create no database in the place of a source that does not exist', async () => {
    const commands = [
      ['backup', 'a'],
      ['restore', 'absent'],
      ['copy', '--from', 'sqlite:absent', '--to', 'sqlite:b'],
    ];
    for (const command of commands) expect((await folder().run(command)).code).toBe(1);
    expect(folder().files()).toEqual([]);
  });

  it.each<[string, Record<string, string>, string]>([
    ['a database that cannot be reached', { DATABASE_URL: 'postgres://shop:hunter2@127.0.0.1:1/pets' }, 'database'],
    ['a Redis that cannot be reached', { RATE_LIMIT: '5', RATE_LIMIT_URL: 'redis://:hunter2@127.0.0.1:1' }, 'limits'],
    ['an invalid setting', { PORT: 'http' }, 'settings'],
    ['a file that is no database', { DATABASE_URL: 'sqlite:text' }, 'database'],
  ])('check fails for %s, and shows no secret', async (_what, variables, name) => {
    writeFileSync(join(folder().path, 'text'), 'x'.repeat(4_096));
    const environment = { API_KEYS: 'a-configured-key', PORTT: 'hunter2', ...variables };
    const { code, out, err } = await folder().run(['check', '--json'], environment);
    const findings = JSON.parse(out) as Finding[];
    expect(code).toBe(1);
    expect(findings.filter(({ state }) => state === 'fail').map((each) => each.name)).toEqual([name]);
    expect(findings).toContainEqual(expect.objectContaining({ name: 'PORTT', advice: 'Did you mean PORT?' }));
    expect(out + err).not.toMatch(/hunter2|a-configured-key/);
  });

  it('check shows every setting, as a table or as JSON, and creates nothing', async () => {
    const { code, out } = await folder().run(['check', '--json'], { PORT: '8080', API_KEYS: 'a-configured-key' });
    const findings = JSON.parse(out) as Finding[];
    expect(code).toBe(0);
    expect(findings).toContainEqual({ name: 'PORT', state: 'ok', found: '8080' });
    expect(out).not.toContain('a-configured-key');
    expect(folder().files()).toEqual([]);
    expect(await run('check')).toMatch(/^STATE {2}NAME .*\n(?:(?:ok {3}|warn ) {2}\S.*\n)+$/);
  });
});
