let onSignal = (): void => process.exit();

/** Exits at SIGTERM or SIGINT, which the first process of a container ignores by default. */
export function exitOnSignal(): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => onSignal());
}

/**
 * Makes the signals of `exitOnSignal` begin a graceful shutdown: the process exits with `process.exitCode` when `close`
 * has resolved. At the timeout, in milliseconds, `onTimeout` is called and the process exits.
 */
export function shutdownOnSignal(close: () => Promise<void>, timeout: number, onTimeout?: () => void): void {
  onSignal = () => {
    // Further signals are ignored: a terminal sends one to all processes, npm and the primary send another.
    onSignal = () => undefined;
    setTimeout(() => {
      onTimeout?.();
      process.exit();
    }, timeout).unref();
    void close().then(() => process.exit());
  };
}
