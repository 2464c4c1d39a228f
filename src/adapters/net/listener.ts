import type { Server as HttpServer } from 'node:http';
import { createServer, type Server, type Socket } from 'node:net';
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';
import { listen, type Place } from './listen.js';

/** For how long no connection must have come for none to be waiting, in milliseconds. */
const QUIET = 50;

/** Where connections are taken, and how that ends. Times are in milliseconds. */
export interface ListenerSettings extends Place {
  /** For how long they are still taken behind the beginning of a stop. */
  readonly stopDelay: number;
  /** Within what time those are taken then that the system holds ready. */
  readonly takeTimeout: number;
}

/** Takes the connections that come to a port of this machine, and hands each on, paused. */
export class Listener {
  private readonly server: Server;
  private held: Socket[] | undefined;
  private hasTaken = false;
  private opened: Promise<string> | undefined;

  constructor(
    private readonly settings: ListenerSettings,
    private readonly hand: (socket: Socket) => void,
  ) {
    this.server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => {
      this.hasTaken = true;
      // An error that nobody listens for ends the process.
      socket.on('error', () => undefined);
      if (this.held) this.held.push(socket);
      else hand(socket);
    });
  }

  /** Begins; resolves to where, as `http://host:port`. Rejects with `UsageError` if it cannot. */
  async open(): Promise<string> {
    this.opened = listen(this.server, this.settings, { port: 'PORT', host: 'HOST' });
    const address = await this.opened;
    // One that cannot be taken, for want of descriptors, is the system's to refuse.
    this.server.on('error', () => undefined);
    return address;
  }

  /**
   * Ends, and resolves when all that were taken are handed on. Those that the system holds ready when its port is closed are reset, with the
   * requests on them: so the last ones are held until no other comes, since whoever is answered may connect again.
   */
  async close(): Promise<void> {
    await this.opened?.catch(() => undefined);
    if (!this.server.listening) return;
    await delay(this.settings.stopDelay);
    this.held = [];
    const end = performance.now() + this.settings.takeTimeout;
    do {
      this.hasTaken = false;
      await delay(QUIET);
      // On a busy machine the time is over before anybody has looked at what came meanwhile.
      await immediate();
    } while (this.hasTaken && performance.now() < end);
    this.server.close();
    for (const socket of this.held.splice(0)) this.hand(socket);
  }
}

/** Hands a connection to a server that does not listen by itself; tells whether it has room for it. */
export function handTo(server: HttpServer, socket: Socket): boolean {
  // A client that has sent its end is answered all the same.
  socket.allowHalfOpen = true;
  server.emit('connection', socket);
  socket.resume();
  return !socket.destroyed;
}
