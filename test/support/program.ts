import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** What says how the program is built. */
const BUILT_BY = ['tsconfig.json', 'tsconfig.build.json', 'bundle.mjs', 'package-lock.json'];

/**
 * Builds the program as `npm run build` does, inside the project, where it finds its packages, and returns its folder. Spec files
 * that run at the same time, or one after the other, share a build for as long as the source is the same.
 */
export function buildProgram(): string {
  const output = resolve('test-output');
  const folder = join(output, `program-${sourceDigest()}`);
  if (existsSync(folder)) return folder;
  mkdirSync(output, { recursive: true });
  const earlier = readdirSync(output).filter((name) => name.startsWith('program-'));
  for (const name of earlier) rmSync(join(output, name), { recursive: true, force: true });
  const building = join(output, `building-${process.pid}`);
  const options = ['-p', 'tsconfig.build.json', '--noCheck', '--outDir', join(building, 'modules')];
  execFileSync(process.execPath, ['node_modules/typescript/bin/tsc', ...options]);
  execFileSync(process.execPath, ['bundle.mjs', building]);
  try {
    renameSync(building, folder);
  } catch (error) {
    // Another one was quicker.
    if (!existsSync(folder)) throw error;
    rmSync(building, { recursive: true });
  }
  return folder;
}

function sourceDigest(): string {
  const files = readdirSync('src', { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const paths = files.map((entry) => join(entry.parentPath, entry.name)).sort();
  const digest = createHash('sha256');
  for (const path of [...paths, 'ormconfig.ts', ...BUILT_BY]) {
    digest.update(path).update(readFileSync(path));
  }
  return digest.digest('hex').slice(0, 12);
}
