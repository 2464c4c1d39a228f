import { execFileSync } from 'node:child_process';
import { cpSync, existsSync } from 'node:fs';
import { join } from 'node:path';

/** Copies to a folder what a clone would have if everything was committed: neither packages nor a built program. */
export function cloneInto(folder: string): void {
  const list = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    encoding: 'utf8',
  });
  for (const path of list.split('\0').filter((name) => name && existsSync(name))) cpSync(path, join(folder, path));
}
