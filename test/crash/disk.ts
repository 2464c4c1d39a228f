import { execFileSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, unlinkSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A folder on a disk that can be filled. */
export interface Disk {
  readonly folder: string;
  /** Leaves no room for the process of this id. */
  fill(pid: number): void;
  /** Makes room again. */
  free(pid: number): void;
  remove(): void;
}

/** A disk in memory of so many megabytes if this user may mount one; else a limit on the files of a process; undefined if neither can be had. */
export function newDisk(megabytes: number): Disk | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'petstore-disk-'));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  if (succeeds('mount', '-t', 'tmpfs', '-o', `size=${megabytes}m`, 'petstore-test', folder)) {
    const ballast = join(folder, 'ballast');
    return {
      folder,
      fill: () => fillUp(ballast),
      free: () => unlinkSync(ballast),
      remove: () => {
        execFileSync('umount', ['--lazy', folder]);
        remove();
      },
    };
  }
  if (!succeeds('prlimit', '--version')) {
    remove();
    return undefined;
  }
  const limit = (pid: number, bytes: string) => execFileSync('prlimit', ['--pid', String(pid), `--fsize=${bytes}:`]);
  return {
    folder,
    fill: (pid) => limit(pid, '0'),
    free: (pid) => limit(pid, 'unlimited'),
    remove,
  };
}

function succeeds(command: string, ...args: string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Writes to a file until the disk takes no more. */
function fillUp(file: string): void {
  const opened = openSync(file, 'a');
  try {
    for (let length = 1 << 20; length > 0;) {
      try {
        writeSync(opened, Buffer.alloc(length));
      } catch {
        length >>= 1;
      }
    }
  } finally {
    closeSync(opened);
  }
}
