/** The most requests that go on together: of 256 clients, all of which at once fill the processor's caches, one takes up to a tenth less of it so. */
const MOST = 64;

/**
 * For how long at most requests wait while connections come, in milliseconds. Each turn of the event loop takes one connection: of 256 that come at
 * once the last would wait for its first answer until all others have had 100.
 */
const WHILE_CONNECTING = 5;

let end: Promise<void> | undefined;
let count = 0;
let goOn: () => void;
let isConnecting = false;

/** Tells that this turn of the event loop has brought a connection, so that the next one may. */
export function noteConnection(): void {
  isConnecting = true;
}

/**
 * Resolves when this turn of the event loop has brought all that it brings, or as many as go on together. The requests of a turn go on behind it,
 * so that one look at the store's revision serves all of them: with 32 clients this makes a request up to twice as cheap, and one that asks nothing of
 * the store, such as a health check, by a third.
 */
export function endOfTurn(): Promise<void> {
  const gathered = (end ??= new Promise((resolve) => {
    count = 0;
    goOn = () => {
      end = undefined;
      resolve();
    };
    setImmediate(endTurn, goOn);
  }));
  if (++count === MOST && !isConnecting) goOn();
  return gathered;
}

function endTurn(goOn: () => void, latest?: number): void {
  if (!isConnecting || performance.now() >= (latest ?? Infinity)) return goOn();
  isConnecting = false;
  setImmediate(endTurn, goOn, latest ?? performance.now() + WHILE_CONNECTING);
}
