import type { LoggerService } from '@nestjs/common';
import { type Logger, pino } from 'pino';
import type { Settings } from '../../settings/settings.js';
import { maskKeys } from '../../domain/keys/api-key.js';
import type { FinishedRequest } from './finished-request.js';
import { sourceStack } from './source-stack.js';
import { openStdout } from './stdout.js';

type LogSettings = Pick<Settings, 'LOG_LEVEL' | 'NODE_ENV'>;

/** The log: lines of JSON in production, and of text otherwise. */
export class Log implements LoggerService {
  private readonly pino: Logger;

  /** Writes to standard output by default; the default level is `info` in production, and `warn` otherwise. */
  constructor({ LOG_LEVEL, NODE_ENV }: LogSettings, write?: (line: string) => void) {
    const json = NODE_ENV === 'production';
    const output = write
      ? { write }
      : openStdout((lines) => this.warn('Log lines dropped: stdout was not being read.', { lines }, 'log'));
    const destination = json ? output : { write: (line: string) => output.write(readable(line)) };
    this.pino = pino(
      {
        level: LOG_LEVEL ?? (json ? 'info' : 'warn'),
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      destination,
    );
  }

  /** Logs a finished request, at debug if it is a successful health check, for which its client has waited. */
  finish(request: FinishedRequest): void {
    const { id, method, route, path, status, duration, code, address, key, aborted, span } = request;
    const level = route?.startsWith('/health/') && status > 0 && status < 400 ? 'debug' : 'info';
    if (!this.pino.isLevelEnabled(level)) return;
    const trace = span?.spanContext();
    const what = method === undefined ? 'Unparsed request' : `${method} ${route ?? path}`;
    // Fields that are undefined are left out.
    const fields = {
      request: id,
      method,
      route,
      path: method === undefined ? undefined : path,
      status: status || undefined,
      code,
      address: status === 401 || status === 429 ? address : undefined,
      ms: Math.round(duration * 1000) / 1000,
      key,
      aborted: aborted || undefined,
      trace_id: trace?.traceId,
      span_id: trace?.spanId,
    };
    this.pino[level](fields, `${what} ${status > 0 ? status : 'aborted'}`);
  }

  info(message: string, fields: object): void {
    this.write('info', message, [fields]);
  }

  /** What Nest does at startup. */
  log(message: unknown, ...more: unknown[]): void {
    this.write('debug', message, more);
  }

  warn(message: unknown, ...more: unknown[]): void {
    this.write('warn', message, more);
  }

  error(message: unknown, ...more: unknown[]): void {
    // An error at startup is also thrown, and `main.ts` prints it.
    if (!String(more.at(-1)).endsWith('ExceptionHandler')) this.write('error', message, more);
  }

  /** Nest's loggers pass a message, then fields or a stack, and the context last. */
  private write(level: 'debug' | 'info' | 'warn' | 'error', message: unknown, more: unknown[]): void {
    const texts = more.filter((each) => typeof each === 'string');
    const fields = more.filter((each) => typeof each === 'object');
    // Of an error only the stack: drivers attach the statement and its values, such as the name of a pet.
    const text = message instanceof Error ? sourceStack(message.stack) : String(message);
    const [part, stack] = [texts.pop(), texts.pop()];
    this.pino[level](Object.assign({ part, stack: stack && maskKeys(sourceStack(stack)) }, ...fields), maskKeys(text));
  }
}

/** A line of JSON as text: time, level, message and the other fields. */
function readable(json: string): string {
  const { time, level, msg, ...fields } = JSON.parse(json) as Record<string, string>;
  const texts = Object.entries(fields).map(([name, value]) => `${name}=${value}`);
  return `${[time?.slice(11, 23), level?.toUpperCase().padEnd(5), ...texts, msg].join(' ').trimEnd()}\n`;
}
