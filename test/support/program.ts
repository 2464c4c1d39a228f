import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

const TSC = 'node_modules/typescript-7/bin/tsc';

/** The files that determine how the program is built. */
const BUILT_BY = ['tsconfig.json', 'tsconfig.build.json', 'scripts/bundle.mjs', 'package-lock.json'];

/**
 * Builds the program as `npm run build` does, inside the project, where it finds its packages, and returns its folder.
 * Spec files share a build for as long as the source is the same.
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
  execFileSync(process.execPath, [TSC, ...options]);
  execFileSync(process.execPath, ['scripts/bundle.mjs', building]);
  try {
    renameSync(building, folder);
  } catch (error) {
    // Another process was quicker.
    if (!existsSync(folder)) throw error;
    rmSync(building, { recursive: true });
  }
  return folder;
}

/** Builds the program with files changed or added, by path; returns its folder, which the caller must remove. */
export function buildOther(name: string, change: (files: Map<string, string>) => void): string {
  const folder = resolve('test-output', `${name}-${process.pid}`);
  const files = new Map(sourceFiles().map((path) => [path, readFileSync(path, 'utf8')]));
  change(files);
  for (const [path, text] of files) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
  const config = {
    extends: '../../tsconfig.build.json',
    compilerOptions: { rootDir: '.' },
    include: ['src', 'ormconfig.ts'],
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config));
  const program = join(folder, 'dist');
  const options = ['-p', folder, '--noCheck', '--outDir', join(program, 'modules')];
  execFileSync(process.execPath, [TSC, ...options]);
  execFileSync(process.execPath, ['scripts/bundle.mjs', program]);
  return program;
}

/** A digest of the source and of how it is built. */
export function sourceDigest(): string {
  const digest = createHash('sha256');
  for (const path of [...sourceFiles(), ...BUILT_BY]) {
    digest.update(path).update(readFileSync(path));
  }
  return digest.digest('hex').slice(0, 12);
}

function sourceFiles(): string[] {
  const files = readdirSync('src', { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return [...files.map((entry) => join(entry.parentPath, entry.name)).sort(), 'ormconfig.ts', 'package.json'];
}
