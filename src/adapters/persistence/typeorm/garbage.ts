import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

let collect: (() => void) | undefined;

/**
 * Makes libsql close its connections: it has no call for that, and keeps each one open until its last statement is
 * collected.
 */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  collect ??= runInNewContext('gc') as () => void;
  collect();
  // Finalizers run after this turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
}
