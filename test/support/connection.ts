import { connect, Socket } from 'node:net';
import { refuseContentHeaders } from './bodiless.js';

/** An answer as it stood on the wire. */
export interface WireAnswer {
  readonly status: number;
  /** Header fields in the order and spelling of the answer. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: string;
  /** The value of a header, or undefined if it is absent; fails if it stands twice. */
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

  /** Sends bytes on a connection of their own and resolves to the first final answer. */
  static async ask(
    port: number,
    bytes: string | Buffer,
    bodiless = String(bytes).startsWith('HEAD '),
  ): Promise<WireAnswer> {
    const connection = await Connection.open(port);
    try {
      connection.write(bytes);
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

  destroy(): void {
    this.socket.destroy();
  }

  private take(bodiless: boolean): WireAnswer | undefined {
    const end = this.received.indexOf('\r\n\r\n');
    if (end < 0) return undefined;
    const [line = '', ...lines] = this.received.toString('latin1', 0, end).split('\r\n');
    const status = Number(/^HTTP\/1\.1 ([1-5][0-9]{2}) /.exec(line)?.[1]);
    if (!status) throw new Error(`This is no status line: ${JSON.stringify(line)}`);
    const fields = lines.map(
      (text) => /^([!#$%&'*+.^_`|~0-9A-Za-z-]+): (.*)$/.exec(text)?.slice(1) as [string, string],
    );
    const header = (name: string) => {
      const found = fields.filter(([given]) => given.toLowerCase() === name.toLowerCase());
      if (found.length > 1) throw new Error(`${name} stands ${found.length} times.`);
      return found[0]?.[1];
    };
    refuseContentHeaders(status, header);
    const length = bodiless || status === 204 || status < 200 ? 0 : Number(header('Content-Length') ?? 0);
    const total = end + 4 + length;
    if (this.received.length < total) return undefined;
    const body = this.received.toString('utf8', end + 4, total);
    this.received = this.received.subarray(total);
    return { status, fields, body, header };
  }
}
