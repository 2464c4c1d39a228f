import type { LoggerService } from '@nestjs/common';
import { Logger, pino } from 'pino';
import { UsageError } from '../../application/errors.js';
import type { Exchange } from '../http/server/exchange.js';
import { BatchedOutput } from './batched-output.js';
import { LogSettings } from './log-settings.js';
import { readable } from './readable.js';

/** The log: lines of JSON, or of text for people, each with a time and a level. */
export class Log implements LoggerService {
  private readonly pino: Logger;
  private readonly output: { write(line: string): void };

  /** Writes a line of JSON in the form of this log. */
  private readonly writeLine: (line: string) => void;

  /** Writes to standard output, or hands each line to `write`. */
  constructor({ level, json }: LogSettings, write?: (line: string) => void) {
    const lost = (lines: number) => this.warn(`${lines} lines are missing here, which nobody read in time.`, 'log');
    this.output = write ? { write } : new BatchedOutput(lost);
    const { output } = this;
    this.writeLine = json ? (line) => output.write(line) : (line) => output.write(readable(line));
    this.pino = pino(
      { level, base: null, timestamp, formatters: { level: (label) => ({ level: label }) } },
      { write: this.writeLine },
    );
  }

  /** Writes a line as it is, at every level: what whoever starts the service is greeted with. */
  print(line: string): void {
    this.output.write(`${line}\n`);
  }

  /** Whether requests have lines at this level. */
  get tellsRequests(): boolean {
    return this.pino.isLevelEnabled('info');
  }

  /** Writes the line of a request that has ended. Health checks come all the time; at this level only those that fail have a line. */
  request(exchange: Exchange): void {
    const { route, status } = exchange;
    const level = route?.startsWith('/health/') && status < 400 ? 'debug' : 'info';
    if (this.pino.isLevelEnabled(level)) this.writeLine(requestLine(level, exchange));
  }

  info(message: unknown, ...more: unknown[]): void {
    this.say('info', message, more);
  }

  /** Nest tells at this level what it puts together, which is for whoever debugs. */
  log(message: unknown, ...more: unknown[]): void {
    this.say('debug', message, more);
  }

  error(message: unknown, ...more: unknown[]): void {
    // Nest logs what ends a start and throws it too: who started the service tells it.
    if (message instanceof UsageError) return;
    this.say('error', message, more);
  }

  warn(message: unknown, ...more: unknown[]): void {
    this.say('warn', message, more);
  }

  /** What Nest's loggers pass on: a message, then fields or a stack, and the part of the program at last. */
  private say(level: 'error' | 'warn' | 'info' | 'debug', message: unknown, more: unknown[]): void {
    if (!this.pino.isLevelEnabled(level)) return;
    const texts = more.filter((each) => typeof each === 'string').map(escaped);
    const fields = more.filter((each) => typeof each === 'object');
    const part = texts.pop();
    this.pino[level](Object.assign({ part, stack: texts.pop() }, ...fields), textOf(message));
  }
}

/** The line that every request has. By hand: pino takes three times as long, some 2 % of what a read costs. */
function requestLine(level: string, { id, method, route, status, duration, key, aborted, trace }: Exchange): string {
  let line = `{"level":"${level}"${timeField(Date.now())},"request":"${id}"`;
  if (method) line += `,"method":"${method}"`;
  if (route) line += `,"route":${routeText(route)}`;
  if (status > 0) line += `,"status":${status}`;
  line += `,"ms":${Math.round(duration * 1000) / 1000}`;
  if (key !== undefined) line += `,"key":${keyText(key)}`;
  if (aborted) line += ',"aborted":true';
  if (trace) line += `,"trace_id":"${trace.traceId}"`;
  if (trace?.spanId) line += `,"span_id":"${trace.spanId}"`;
  return `${line}}\n`;
}

// Many lines in turn share a millisecond, a route and a key, and to write these out is a good part of the cost of a line.
const timeField = keepLast((now: number) => `,"time":"${new Date(now).toISOString()}"`);
const routeText = keepLast((route: string) => JSON.stringify(route));
const keyText = keepLast((key: string) => JSON.stringify(key));

function timestamp(): string {
  return timeField(Date.now());
}

/** Makes something new of an argument only if it is not the last one again. */
function keepLast<Argument, Made>(make: (argument: Argument) => Made): (argument: Argument) => Made {
  let last: { readonly argument: Argument; readonly made: Made } | undefined;
  return (argument) => {
    if (last?.argument !== argument) last = { argument, made: make(argument) };
    return last.made;
  };
}

/** An error is its stack alone: drivers hang the statement and its values on it, and a pet's name is among them. */
function textOf(message: unknown): string {
  if (message instanceof Error) return escaped(message.stack ?? message.message);
  return escaped(typeof message === 'string' ? message : (JSON.stringify(message) ?? String(message)));
}

/** Escapes the control characters that JSON lets through: DEL and C1, which steer some terminals too. */
function escaped(text: string): string {
  return text.replace(/[\x7f-\x9f]/g, (character) => `\\u00${character.charCodeAt(0).toString(16)}`);
}
