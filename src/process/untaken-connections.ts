import type { Worker } from 'node:cluster';
import type { ChildProcess } from 'node:child_process';

/** Which workers have refused a connection, because they stop or have as many as they may. */
const refusals = new WeakMap<object, Set<Worker>>();

/**
 * Node hands a worker one connection after the other. It holds for ever the one that a worker has not taken when it ends, and the one
 * that no worker takes any more in a stop, and offers one that no worker has room for to each of them in turn without a pause: they are
 * closed here, so that no client waits in vain. This looks at what passes inside of Node; if that is done in another way one day,
 * nothing else suffers.
 */
export function closeUntaken(worker: Worker, listening: ReadonlySet<Worker>): void {
  const channel: ChildProcess = worker.process;
  const send = channel.send.bind(channel) as (...args: unknown[]) => boolean;
  let untaken: { close(): void } | undefined;
  channel.send = (message: unknown, handle?: unknown, ...rest: unknown[]) => {
    if (isConnection(handle)) untaken = handle;
    return send(message, handle, ...rest);
  };
  channel.prependListener('internalMessage', (message: { ack?: number; accepted?: boolean }) => {
    if (message.ack === undefined) return;
    if (untaken && !message.accepted) {
      const refused = refusals.get(untaken) ?? new Set();
      refusals.set(untaken, refused.add(worker));
      // Node closes one that was accepted, and keeps another for the next worker.
      message.accepted = [...listening].every((each) => refused.has(each));
    }
    untaken = undefined;
  });
  worker.once('exit', () => untaken?.close());
}

function isConnection(handle: unknown): handle is { close(): void } {
  return typeof handle === 'object' && handle !== null && 'close' in handle;
}
