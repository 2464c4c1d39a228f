/** Within what time a second signal is the first one again, which npm passes on after the terminal sent it, in milliseconds. */
const SAME_SIGNAL = 500;

/**
 * Stops on SIGTERM or SIGINT: `close` finishes what is under way, and the process exits with `process.exitCode`, 0 unless somebody set it.
 * What is not finished in time, or when a second signal comes, is cut off, and the exit is 1. Returns what stops without a signal.
 */
export function stopOnSignal(
  close: () => Promise<void>,
  timeout: number,
  cutOff: () => void = () => process.exit(1),
): () => void {
  let stoppingSince: number | undefined;
  const stop = () => {
    if (stoppingSince !== undefined) return;
    stoppingSince = performance.now();
    setTimeout(cutOff, timeout).unref();
    close().then(() => process.exit(), cutOff);
  };
  const onSignal = () => {
    if (stoppingSince === undefined) stop();
    else if (performance.now() - stoppingSince > SAME_SIGNAL) cutOff();
  };
  process.on('SIGTERM', onSignal).on('SIGINT', onSignal);
  return stop;
}
