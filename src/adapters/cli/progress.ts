import { constants } from 'node:os';
import { clearLine, cursorTo } from 'node:readline';
import { PAUSE, Progress } from '../../messages/progress.js';
import { isDumbTerminal } from '../../settings/settings.js';

/** The option of commands whose work may be long. */
export const QUIET = ['--quiet', 'show no progress'] as const;

/** From when on work is long enough for a bar on a terminal, and how often that is drawn; in milliseconds. */
const BEGIN = 1_000;
const REDRAW = 100;

const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Shows on standard error how far work is, unless `quiet`: a bar on a terminal, else a line every ten seconds. A signal
 * ends the process, with the exit code of a shell, and says what is left behind.
 */
export async function withProgress<T>(
  quiet: boolean | undefined,
  work: (progress: Progress) => Promise<T>,
): Promise<T> {
  const progress = new Progress();
  const { stderr } = process;
  const isTerminal = stderr.isTTY && !isDumbTerminal();
  const writeLine = () => progress.name && stderr.write(`${progress.toString()}\n`);
  let isDrawn = false;
  const draw = () => {
    isDrawn = true;
    cursorTo(stderr, 0);
    stderr.write(lineOf(progress, stderr.columns));
    clearLine(stderr, 1);
  };
  const drawLater = () => void (timer = setInterval(draw, REDRAW));
  let timer = quiet ? undefined : isTerminal ? setTimeout(drawLater, BEGIN) : setInterval(writeLine, PAUSE);
  const end = () => {
    clearInterval(timer);
    if (!isDrawn) return;
    cursorTo(stderr, 0);
    clearLine(stderr, 0);
  };
  const interrupt = (signal: (typeof SIGNALS)[number]) => {
    end();
    if (!quiet) writeLine();
    stderr.write(`Interrupted (${signal}). ${progress.ifInterrupted}`.trimEnd() + '\n');
    process.exit(128 + constants.signals[signal]);
  };
  for (const signal of SIGNALS) process.on(signal, interrupt);
  try {
    return await work(progress);
  } finally {
    end();
    for (const signal of SIGNALS) process.off(signal, interrupt);
  }
}

/** The name, a bar, which is as wide in the end as in the beginning, and as many of the details as fit. */
export function lineOf({ name, share, details }: Progress, columns: number): string {
  const width = Math.max(10, Math.floor(columns / 8));
  const bar = share === undefined ? '' : `[${'='.repeat(Math.floor(share * width)).padEnd(width)}] `;
  const line = () => `${name} ${bar}${details.join(', ')}`;
  while (details.length > 1 && line().length >= columns) details.pop();
  return line().slice(0, columns - 1);
}
