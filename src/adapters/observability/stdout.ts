import { constants, fstatSync, openSync } from 'node:fs';
import { pino } from 'pino';

/**
 * Standard output, written in batches. If nothing reads it, at most 16 MiB are buffered and further lines dropped;
 * `onDropped` is called with their number once it is read again. Batches are written when the process exits.
 *
 * The writes are synchronous: pino writes one asynchronous batch per turn of the event loop, too little under load.
 */
export function openStdout(onDropped: (lines: number) => void) {
  let dropped = 0;
  const stdout = pino.destination({
    dest: descriptor(),
    sync: true,
    minLength: 4_095,
    // A pipe accepts so much atomically, so that lines of several workers do not mix (pipe(7), PIPE_BUF).
    maxWrite: 4_096,
    maxLength: 16 * 1024 * 1024,
    periodicFlush: 50,
    // By default pino would block until a full pipe is read.
    retryEAGAIN: () => false,
  });
  stdout.on('drop', () => dropped++);
  stdout.on('drain', () => {
    const lines = dropped;
    dropped = 0;
    if (lines > 0) onDropped(lines);
  });
  // A closed or full pipe, or a full disk, must not stop the service.
  stdout.on('error', () => undefined);
  // `flushSync` never returns while the disk is full.
  process.on('exit', () => stdout.end());
  return stdout;
}

/** Opens a pipe again, non-blocking, because processes that share descriptor 1 can make that blocking at any time. */
function descriptor(): number {
  try {
    if (fstatSync(1).isFIFO()) return openSync('/dev/stdout', constants.O_WRONLY | constants.O_NONBLOCK);
  } catch {
    // Not permitted to this user, or the pipe has no reader.
  }
  return 1;
}
