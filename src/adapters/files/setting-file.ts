import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';

/** The most that a file may have which a setting names, in bytes. */
const MAX_SIZE = 1_048_576;

/** The text of a file that a setting names; throws an error whose message says in some words why it cannot be read. */
export function readSettingFile(path: string): string {
  // A pipe would be waited for, by a process that meanwhile hears no signal.
  const opened = whileCoded(() => openSync(path, constants.O_RDONLY | constants.O_NONBLOCK));
  try {
    if (!fstatSync(opened).isFile()) throw new Error('it is no file');
    // The system has files whose size is said to be 0, and that have no end.
    const bytes = Buffer.alloc(MAX_SIZE + 1);
    let size = 0;
    for (let read = -1; read !== 0 && size <= MAX_SIZE; size += read) {
      read = whileCoded(() => readSync(opened, bytes, size, bytes.length - size, null));
    }
    if (size > MAX_SIZE) throw new Error(`it has more than ${MAX_SIZE} bytes`);
    return bytes.toString('utf8', 0, size);
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
