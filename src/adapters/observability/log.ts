import type { LoggerService } from '@nestjs/common';
import { type DestinationStream, type Logger, pino } from 'pino';
import type { Settings } from '../../settings/settings.js';
import { maskKeys } from '../../domain/keys/api-key.js';
import type { FinishedRequest } from './finished-request.js';
import { sourceStack } from './source-stack.js';
import { openStdout } from './stdout.js';

type LogSettings = Pick<Settings, 'LOG_LEVEL' | 'NODE_ENV'>;

/** The log: lines of JSON in production, and of text otherwise. */
export class Log implements LoggerService {
  private readonly pino: Logger;
  private readonly output: DestinationStream;
  private now = 0;
  private nowText = '';

  /** Writes to standard output by default; the default level is `info` in production, and `warn` otherwise. */
  constructor({ LOG_LEVEL, NODE_ENV }: LogSettings, write?: (line: string) => void) {
    const json = NODE_ENV === 'production';
    const output = write
      ? { write }
      : openStdout((lines) => this.warn('Log lines dropped: stdout was not being read.', { lines }, 'log'));
    this.output = json ? output : { write: (line) => output.write(readable(line)) };
    this.pino = pino(
      {
        level: LOG_LEVEL ?? (json ? 'info' : 'warn'),
        base: null,
        timestamp: pino.stdTimeFunctions.isoTime,
        formatters: { level: (label) => ({ level: label }) },
      },
      this.output,
    );
  }

  /** Logs a finished request, at debug if it is a successful health check, for which its client has waited. */
  finish(request: FinishedRequest): void {
    const { id, method, route, path, status, duration, code, address, key, aborted, span } = request;
    const level = route?.startsWith('/health/') && status > 0 && status < 400 ? 'debug' : 'info';
    if (!this.pino.isLevelEnabled(level)) return;
    // Not by pino, which takes three times as long. Only the name of a key can have a character that must be escaped.
    let line = `{"level":"${level}","time":"${this.isoTime()}","request":"${id}"`;
    if (method !== undefined) line += `,"method":"${method}"`;
    if (route !== undefined) line += `,"route":"${route}"`;
    else if (method !== undefined) line += `,"path":"${path}"`;
    if (status > 0) line += `,"status":${status}`;
    if (code !== undefined) line += `,"code":"${code}"`;
    if (status === 401 || status === 429) line += `,"address":"${address}"`;
    line += `,"ms":${Math.round(duration * 1000) / 1000}`;
    if (key !== undefined) line += `,"key":${JSON.stringify(key)}`;
    if (aborted) line += ',"aborted":true';
    const trace = span?.spanContext();
    if (trace) line += `,"trace_id":"${trace.traceId}","span_id":"${trace.spanId}"`;
    const what = method === undefined ? 'Unparsed request' : `${method} ${route ?? path}`;
    this.output.write(`${line},"msg":"${what} ${status > 0 ? status : 'aborted'}"}\n`);
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

  /** The time to the millisecond. Its text is made once for all lines of a millisecond. */
  private isoTime(): string {
    const now = Date.now();
    if (now !== this.now) [this.now, this.nowText] = [now, new Date(now).toISOString()];
    return this.nowText;
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
