import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';
import type { FinishedRequest } from '../../application/finished-request.js';
import { readable } from './readable.js';
import { openStdout } from './stdout.js';

/** The contexts of Nest's messages at startup, which are logged at debug; the bundler prefixes some names with `_`. */
const STARTUP = /^_?(?:InstanceLoader|NestApplication|NestFactory|RouterExplorer|RoutesResolver)$/;

/** The context of errors at startup, which Nest also throws: `main.ts` prints them. */
const THROWN = /^_?ExceptionHandler$/;

export interface LogSettings {
  /** Default: `info` in production, `warn` otherwise. */
  readonly LOG_LEVEL: string | undefined;
  readonly NODE_ENV: string | undefined;
}

/** The log: lines of JSON in production, and of text otherwise. */
export class Log implements LoggerService {
  private readonly pino: Logger;
  private readonly output: { write(line: string): unknown };

  /** Writes to standard output by default. */
  constructor({ LOG_LEVEL, NODE_ENV }: LogSettings, write?: (line: string) => void) {
    const json = NODE_ENV === 'production';
    const level = LOG_LEVEL ?? (json ? 'info' : 'warn');
    const output = write
      ? { write }
      : openStdout((lines) => this.warn('Log lines dropped: stdout was not being read.', { lines }, 'log'));
    this.output = output;
    this.pino = pino(
      {
        level,
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      json ? output : { write: (line) => output.write(readable(line)) },
    );
  }

  /** Writes a line unchanged, whatever the level. */
  print(line: string): void {
    this.output.write(`${line}\n`);
  }

  /** Logs a finished request, at debug if it is a successful health check. */
  finish({ id, method, route, status, duration, key, aborted, trace }: FinishedRequest): void {
    this.pino[route?.startsWith('/health/') && status < 400 ? 'debug' : 'info']({
      request: id,
      method,
      route,
      status: status || undefined,
      ms: Math.round(duration * 1000) / 1000,
      key,
      aborted: aborted || undefined,
      trace_id: trace?.traceId,
      span_id: trace?.spanId,
    });
  }

  debug(message: unknown, ...more: unknown[]): void {
    this.write('debug', message, more);
  }

  log(message: unknown, ...more: unknown[]): void {
    this.write(STARTUP.test(String(more.at(-1))) ? 'debug' : 'info', message, more);
  }

  warn(message: unknown, ...more: unknown[]): void {
    this.write('warn', message, more);
  }

  error(message: unknown, ...more: unknown[]): void {
    if (!THROWN.test(String(more.at(-1)))) this.write('error', message, more);
  }

  /** Nest's loggers pass a message, then fields or a stack, and the context last. */
  private write(level: 'debug' | 'info' | 'warn' | 'error', message: unknown, more: unknown[]): void {
    const texts = more.filter((each) => typeof each === 'string');
    const fields = more.filter((each) => typeof each === 'object');
    const part = texts.pop();
    this.pino[level](Object.assign({ part, stack: texts.pop() }, ...fields), textOf(message));
  }
}

/** Of an error only the stack: drivers attach the statement and its values, such as the name of a pet. */
function textOf(message: unknown): string {
  if (message instanceof Error) return message.stack ?? message.message;
  return typeof message === 'string' ? message : (JSON.stringify(message) ?? String(message));
}
