import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';

/** The most that a file may have which a setting names, in bytes. */
const MAX_SIZE = 1_048_576;

/** The text of a file that a setting names; throws an error whose message says in some words why it cannot be read. */
export function readSettingFile(path: string): string {
  // A pipe would be waited for, by a process that meanwhile hears no signal.
  const opened = whileCoded(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
  try {
    const stats = fstatSync(opened);
    if (!stats.isFile()) throw new Error('it is no file');
    if (stats.size > MAX_SIZE) throw new Error(`it has more than ${MAX_SIZE} bytes`);
    return whileCoded(() => readFileSync(opened, 'utf8'));
  } finally {
    closeSync(opened);
  }
}

/** Has an error tell its code alone: the system's own message has the path, in whose place somebody may have put a secret. */
function whileCoded<T>(work: () => T): T {
  try {
    return work();
  } catch (error) {
    throw new Error(`it cannot be read (${(error as NodeJS.ErrnoException).code})`, { cause: error });
  }
}
