import { setImmediate as immediate } from 'node:timers/promises';

/*
 * Requests that arrive together share what they cost: with 32 clients this gives at least a third more responses per
 * second, cached ones included. What waits for the end of a turn of the event loop goes on in the order in which it
 * began to wait, and this is the sequence, which `test/runtime/event-loop.spec.ts` checks:
 *
 * turn 1      Node reads requests from its sockets. The queue of a connection holds each until the end of the turn.
 * its end     All of them are handled. The first that asks for the version of the database has it read; from then on
 *             that waits for the end of turn 2, to be forgotten. What needs the database joins a batch.
 * turn 2      Node reads more requests, which begin to wait for its end.
 * its end     First the version is forgotten, because it began to wait before these requests arrived: none of them gets
 *             a version that was read before it arrived. Then they are handled, and join the batch.
 * turn 3      Its end sends the batch.
 */

let endOfCurrentTurn: Promise<void> | undefined;

/** Resolves at the end of the current turn of the event loop, when all requests that have arrived have been read. */
export function endOfTurn(): Promise<void> {
  return (endOfCurrentTurn ??= immediate().then(() => void (endOfCurrentTurn = undefined)));
}

/** Called at the end of a turn, resolves two turns later: when the requests of the next turn have been handled. */
export async function endOfNextTurn(): Promise<void> {
  await endOfTurn();
  await endOfTurn();
}

/**
 * A value that is read at most once a turn. Whoever gets it has waited for the end of a turn since it arrived, as every
 * request has: so what arrives after a read is handled after that has been forgotten, which began to wait before.
 */
export class OncePerTurn<Value> {
  private value: Value | undefined;

  constructor(private readonly read: () => Value) {}

  get(): Value {
    if (this.value === undefined) void endOfTurn().then(() => (this.value = undefined));
    return (this.value ??= this.read());
  }
}
