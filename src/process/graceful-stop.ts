const SIGNALS = ['SIGTERM', 'SIGINT'] as const;

/** Within what time a second signal is the first one again, which npm passes on after the terminal sent it, in milliseconds. */
const SAME_SIGNAL = 500;

/** What is done on a signal. The listener stays the same: to take one away loses the signals that are on their way. */
let onSignal: () => void = () => process.exit();

/** Exits on SIGTERM or SIGINT as long as nothing has to be finished; the first process of a container would not even hear them. */
export function exitOnSignal(): void {
  for (const signal of SIGNALS) process.on(signal, () => onSignal());
}

/**
 * From here on a signal that `exitOnSignal` listens for stops: `close` finishes what is under way, and the process exits with
 * `process.exitCode`, 0 unless somebody set it; so it does if that takes too long, unless `cutOff` says otherwise. If it fails, or a second
 * signal comes, the exit is 1. Returns what stops without a signal.
 */
export function stopOnSignal(close: () => Promise<void>, timeout: number, cutOff?: () => void): () => void {
  const fail = cutOff ?? (() => process.exit(1));
  let stoppingSince: number | undefined;
  const stop = () => {
    if (stoppingSince !== undefined) return;
    stoppingSince = performance.now();
    setTimeout(cutOff ?? (() => process.exit()), timeout).unref();
    close().then(() => process.exit(), fail);
  };
  onSignal = () => {
    if (stoppingSince === undefined) stop();
    else if (performance.now() - stoppingSince > SAME_SIGNAL) fail();
  };
  return stop;
}
