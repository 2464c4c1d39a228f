import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Makes libsql close its connections: its `close()` leaves one open until the last statement is collected, and no call
 * finalizes a statement.
 */
export async function collectGarbage(): Promise<void> {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
  // Finalizers run after this turn of the event loop.
  await new Promise((resolve) => setImmediate(resolve));
}
