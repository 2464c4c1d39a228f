import { accessSync, constants, existsSync, statfsSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { fail, Finding, ok, warn } from '../../application/finding.js';

/** Below how many free bytes a disk is nearly full. */
const MIN_FREE = 100_000_000;

/** What there is to say of the file of a SQLite database and of its folder, be they there or not. */
export function sqliteFileFindings(file: string): Finding[] {
  const path = resolve(file);
  return [
    ...(existsSync(path) ? [secrecy('the SQLite file', path, 0o600)] : []),
    ...(existsSync(dirname(path)) ? [secrecy('the folder of the SQLite file', dirname(path), 0o700)] : []),
    writable(path),
    space(nearest(dirname(path))),
  ];
}

/** Whether what is at the path is the owner's alone to read, as it would be with this mode. */
export function secrecy(name: string, path: string, mode: number): Finding {
  const found = statSync(path).mode & 0o777;
  const shown = `${path} has the mode ${octal(found)}`;
  const others = (mode >> 3) | (mode >> 6);
  if ((found & others & 0o055) === 0) return ok(name, shown);
  return warn(name, `${shown}: others than its owner can read it.`, `Its mode should be ${octal(mode)}.`);
}

function writable(path: string): Finding {
  const parts = existsSync(path) ? [path, dirname(path)] : [nearest(dirname(path))];
  const shut = parts.find((part) => !may(part, constants.W_OK));
  if (shut === undefined) return ok('writing', 'the SQLite file and its folder can be written');
  return fail('writing', `${shut} cannot be written.`, 'The service must own the SQLite file and its folder.');
}

function may(path: string, right: number): boolean {
  try {
    accessSync(path, right);
    return true;
  } catch {
    return false;
  }
}

function space(folder: string): Finding {
  const { bavail, bsize } = statfsSync(folder);
  const free = bavail * bsize;
  const found = `${Math.floor(free / 1e6)} MB are free`;
  if (free >= MIN_FREE) return ok('the disk', found);
  return warn('the disk', `Only ${found} for the SQLite file.`, `There should be ${MIN_FREE / 1e6} MB at the least.`);
}

/** The folder itself, or the nearest one above it that is there. */
function nearest(folder: string): string {
  return existsSync(folder) ? folder : nearest(dirname(folder));
}

function octal(mode: number): string {
  return mode.toString(8).padStart(4, '0');
}
