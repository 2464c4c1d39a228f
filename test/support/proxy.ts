import { once } from 'node:events';
import { AddressInfo, connect, createServer, Server, Socket } from 'node:net';

/** A way to a server that can be disturbed. */
export class Proxy {
  private readonly server: Server;
  private readonly pairs = new Set<readonly [Socket, Socket]>();
  private held = false;
  private refused = false;
  private losing = 0;
  /** By how much each answer is delayed, in milliseconds. */
  delay = 0;
  private lastWords: string | undefined;
  private awaited: { readonly text: string; readonly resolve: () => void } | undefined;

  private constructor(
    private target: number,
    host: string,
  ) {
    this.server = createServer((client) => {
      if (this.refused) {
        client.on('error', () => undefined).destroy();
        return;
      }
      const upstream = connect(this.target, host);
      const pair = [client, upstream] as const;
      this.pairs.add(pair);
      for (const [from, to] of [pair, [upstream, client] as const]) {
        from.on('error', () => to.destroy()).on('close', () => to.destroy());
        from.pipe(to);
        if (this.held) from.unpipe(to).pause();
      }
      client.on('close', () => this.pairs.delete(pair));
      client.on('data', (bytes: Buffer) => {
        if (this.lastWords !== undefined && bytes.includes(this.lastWords)) this.hang();
        if (this.delay > 0) {
          upstream.unpipe(client).pause();
          setTimeout(() => upstream.pipe(client), this.delay);
        }
        if (this.losing > 0) this.loseAnswer(pair);
        else if (this.awaited && bytes.includes(this.awaited.text)) {
          this.loseAnswer(pair, this.awaited.resolve);
          this.awaited = undefined;
        }
      });
    });
  }

  /** Opens a way to this port, of the loopback if no host is named. */
  static async open(target: number, host = '127.0.0.1'): Promise<Proxy> {
    const proxy = new Proxy(target, host);
    await once(proxy.server.listen(0, '127.0.0.1'), 'listening');
    return proxy;
  }

  /** Opens a way to the server of a `DATABASE_URL` that names its port; the second is the URL that goes this way. */
  static async to(database: string): Promise<[Proxy, url: string]> {
    const url = new URL(database);
    const proxy = await Proxy.open(Number(url.port), url.hostname);
    url.hostname = '127.0.0.1';
    url.port = String(proxy.port);
    return [proxy, url.href];
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  /** Forwards nothing more, and says nothing: not on the connections there are, nor on new ones. */
  hang(): void {
    this.held = true;
    for (const [client, upstream] of this.pairs) {
      client.unpipe(upstream).pause();
      this.holdAnswers([client, upstream]);
    }
  }

  /** Hangs from when a client sends this text. */
  hangAt(text: string): void {
    this.lastWords = text;
  }

  /** Forwards what the clients send, and nothing of what they are answered. */
  loseAnswers(): void {
    for (const pair of this.pairs) this.holdAnswers(pair);
  }

  /** Lets the server do what is sent next with this text in it, on any connection, and ends that connection in place of the answer; resolves then. */
  async loseAnswerTo(text: string): Promise<void> {
    await new Promise<void>((resolve) => (this.awaited = { text, resolve }));
  }

  /** Of what is sent next, on any connection, lets the server do so much; each time its connection ends in place of the answer. */
  loseNextAnswers(count: number): void {
    this.losing = count;
  }

  /** Forwards all again, first what was held back. */
  resume(): void {
    [this.held, this.refused, this.losing] = [false, false, 0];
    for (const [client, upstream] of this.pairs) {
      client.unpipe(upstream).pipe(upstream);
      upstream.unpipe(client).pipe(client);
    }
  }

  /** Ends all connections, and each new one at once. */
  refuse(): void {
    this.refused = true;
    this.cut();
  }

  /** Forwards new connections; the old ones hang for ever, as where a machine on the way forgot them. */
  forwardNew(): void {
    this.held = false;
    this.lastWords = undefined;
  }

  /** Leads new connections to this port, and ends the others, as a proxy does once another server is the primary. */
  redirect(target: number): void {
    this.target = target;
    this.cut();
  }

  /** Ends all connections. */
  cut(): void {
    for (const [client, upstream] of this.pairs) {
      client.destroy();
      upstream.destroy();
    }
  }

  async close(): Promise<void> {
    this.server.close();
    this.cut();
    await once(this.server, 'close');
  }

  private holdAnswers([client, upstream]: readonly [Socket, Socket]): void {
    upstream.unpipe(client).pause();
  }

  private loseAnswer([client, upstream]: readonly [Socket, Socket], lost?: () => void): void {
    this.losing = Math.max(0, this.losing - 1);
    this.holdAnswers([client, upstream]);
    upstream.once('readable', () => {
      client.destroy();
      upstream.destroy();
      lost?.();
    });
  }
}
