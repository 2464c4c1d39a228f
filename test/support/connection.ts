import type { IncomingHttpHeaders } from 'node:http';
import { connect, Socket } from 'node:net';

/** An answer, its body as text. */
export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** An answer as it stood on the wire, each header once. */
export interface WireAnswer extends Answer {
  /** The value of a header, or undefined if it is absent. */
  header(name: string): string | undefined;
}

/** A connection that sends bytes as they are and reads answers one by one: nothing is smoothed over. */
export class Connection {
  private received = Buffer.alloc(0);
  private wake: () => void = () => undefined;
  /** Resolves once the service has closed the connection or reset it. */
  readonly closed: Promise<void>;
  private isClosed = false;
  /** Whether the connection broke, rather than being closed in order. */
  broke = false;

  private constructor(readonly socket: Socket) {
    this.closed = new Promise((resolve) =>
      socket.on('close', () => {
        this.isClosed = true;
        this.wake();
        resolve();
      }),
    );
    socket.on('data', (chunk: Buffer) => {
      this.received = Buffer.concat([this.received, chunk]);
      this.wake();
    });
    socket.on('error', () => (this.broke = true));
  }

  /** Opens a connection to the service. */
  static open(port: number): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true });
      socket.once('error', reject);
      socket.once('connect', () => resolve(new Connection(socket)));
    });
  }

  /** Opens a connection to the service, and sends bytes. */
  static async send(port: number, bytes: string | Buffer): Promise<Connection> {
    const connection = await Connection.open(port);
    connection.write(bytes);
    return connection;
  }

  /**
   * Sends bytes on a connection of their own and resolves to the first final answer; rejects if nothing comes for `timeout` ms, which
   * only the connections need that node:cluster was handing to a worker that crashed.
   */
  static async ask(
    port: number,
    bytes: string | Buffer,
    bodiless = String(bytes).startsWith('HEAD '),
    timeout = 0,
  ): Promise<WireAnswer> {
    const connection = await Connection.send(port, bytes);
    try {
      connection.socket.setTimeout(timeout, () => connection.destroy());
      return await connection.answer(bodiless);
    } finally {
      connection.destroy();
    }
  }

  /** Sends bytes; the characters of a string are bytes too. */
  write(bytes: string | Buffer): void {
    this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes);
  }

  /** The next answer, 1xx included; rejects if the connection is closed before it is whole. */
  async answer(bodiless = false): Promise<WireAnswer> {
    for (;;) {
      const answer = this.take(bodiless);
      if (answer) return answer;
      if (this.isClosed) throw new Error(`The connection was closed behind ${JSON.stringify(this.rest)}.`);
      await new Promise<void>((resolve) => (this.wake = resolve));
    }
  }

  /** What was received and not read as an answer yet. */
  get rest(): string {
    return this.received.toString('latin1');
  }

  /** Resolves to what was received and not read as an answer, once the connection is closed. */
  async untilClosed(): Promise<string> {
    await this.closed;
    return this.rest;
  }

  destroy(): void {
    this.socket.destroy();
  }

  private take(bodiless: boolean): WireAnswer | undefined {
    const end = this.received.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const [line = '', ...lines] = this.received.toString('latin1', 0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([1-5][0-9]{2}) /.exec(line)?.[1]);
    if (!status) throw new Error(`This is no status line: ${JSON.stringify(line)}`);
    const headers: Record<string, string> = {};
    for (const text of lines) {
      const [, name = '', value = ''] = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): (.*)$/.exec(text) ?? [];
      if (name === '' || name.toLowerCase() in headers) throw new Error(`This is no header, or there twice: ${text}`);
      headers[name.toLowerCase()] = value;
    }
    rejectContentHeaders(status, headers);
    const length = bodiless || status === 204 || status < 200 ? 0 : Number(headers['content-length'] ?? 0);
    const total = end + 4 + length;
    if (this.received.length < total) return undefined;
    const body = this.received.toString('utf8', end + 4, total);
    this.received = this.received.subarray(total);
    return { status, headers, body, header: (name) => headers[name.toLowerCase()] };
  }
}

/**
 * Throws if a response without content has a header of content: 204 must have none (RFC 9110, section 8.6; RFC 9112,
 * section 6.1), and 304 need not repeat those of the 200.
 */
export function rejectContentHeaders(status: number, headers: IncomingHttpHeaders): void {
  if (status !== 204 && status !== 304) return;
  const found = ['content-length', 'transfer-encoding'].find((name) => name in headers);
  if (found) throw new Error(`A response with ${status} has ${found}.`);
}
