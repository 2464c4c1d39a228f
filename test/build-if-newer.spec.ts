import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const OTHERS = ['ormconfig.ts', 'bundle.mjs', 'package-lock.json', 'tsconfig.json', 'tsconfig.build.json'];

describe('npm start', () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    cpSync('build-if-newer.mjs', join(folder, 'build-if-newer.mjs'));
    mkdirSync(join(folder, 'src/domain'), { recursive: true });
    for (const name of [...OTHERS, 'src/main.ts', 'src/domain/pet.ts']) writeFileSync(join(folder, name), '');
    const build = 'mkdir -p dist/src && touch dist/src/main.js && echo built >> builds';
    writeFileSync(join(folder, 'package.json'), JSON.stringify({ scripts: { build } }));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  /** How many builds there were once it was asked for one more time. */
  function builds(): number {
    execFileSync(process.execPath, ['build-if-newer.mjs'], { cwd: folder, stdio: 'ignore' });
    return readFileSync(join(folder, 'builds'), 'utf8').split('\n').length - 1;
  }

  /** Has a file or a folder be as old as from an hour before now, or after. */
  function age(path: string, hours: number): void {
    const time = new Date(Date.now() + hours * 3_600_000);
    utimesSync(join(folder, path), time, time);
  }

  it('builds what is not there, and then what was changed since', () => {
    expect(builds()).toBe(1);
    expect(builds()).toBe(1);
    for (const path of [...OTHERS, 'package.json', 'src/main.ts', 'src/domain/pet.ts', 'src/domain']) {
      const before = builds();
      age(path, 1);
      expect([path, builds()]).toEqual([path, before + 1]);
      age(path, -1);
    }
  });
});
