import type { Socket } from 'node:net';
import { Request } from '../request.js';

/** What Node's parser has besides what its types tell. */
interface Parser {
  readonly constructor: { readonly kOnExecute?: number };
  /** What it calls when it has read a packet, by the number of that event. */
  [event: number]: ((...result: unknown[]) => void) | undefined;
  /** A copy of the packet that it reads. */
  getCurrentBuffer?(): Buffer;
  /** Whether the head that began last has ended. */
  headersCompleted?(): boolean;
}

/** A packet, and how far its request lines are known. */
interface Packet {
  readonly text: string;
  known: number;
}

/** What a head shows that has not ended: how many of its lines end in another protocol, and its last characters. */
interface Begun {
  readonly named: number;
  readonly end: string;
}

const PROTOCOL = /(\w+)\/(\d\.\d)/y;

/** With what a request line ends that names another protocol than HTTP; 9 characters. */
const OTHER_PROTOCOL = /(?:TSP|ICE)\/\d\.\d\r\n/g;
const OVERLAP = 8;

const END_OF_HEAD = '\r\n\r\n';

/**
 * Tells whether the requests of one connection name HTTP, and not RTSP or ICE. Node's parser takes all three, and does not tell which it
 * was; only the packets that it reads show it. Looked at are the requests of version 1.0, which RTSP and ICE have, the first one, and
 * those whose head came in several packets: to look at each packet costs 1 us and more.
 */
export class RequestLines {
  private isNew = true;
  private begun: Begun | undefined;

  /** The packet that is read, once a request in it was looked at: Node copies it each time. */
  private packet: Packet | undefined;

  /** For a connection that Node has just given its parser. */
  constructor(private readonly socket: Socket) {
    const parser = parserOf(socket);
    const event = parser?.constructor.kOnExecute ?? -1;
    const executed = parser?.[event];
    if (!parser || !executed) return;
    parser[event] = (...result) => {
      this.packetRead();
      executed(...result);
    };
  }

  /** To be called when the parser has read a packet; with that, if it was fed it and did not read by itself. */
  packetRead(packet?: Buffer): void {
    this.packet = undefined;
    const parser = parserOf(this.socket);
    if (parser?.headersCompleted?.() !== false) return;
    const text = (this.begun?.end ?? '') + latin1(packet ?? parser.getCurrentBuffer?.());
    const before = text.lastIndexOf(END_OF_HEAD);
    const head = before < 0 ? text : text.slice(before + END_OF_HEAD.length);
    // An empty line in front of a request line is none of the head (RFC 9112, section 2.2).
    if (!this.begun && head.trim() === '') return;
    this.begun = { named: (this.begun?.named ?? 0) + timesNamed(head), end: head.slice(-OVERLAP) };
  }

  /** Whether a request names HTTP. To be called once for each, when its head has been read. */
  nameHttp(request: Request): boolean {
    const { begun, isNew, socket } = this;
    this.begun = undefined;
    this.isNew = false;
    if (!begun && !isNew && request.httpVersion !== '1.0') return true;
    this.packet ??= { text: latin1(parserOf(socket)?.getCurrentBuffer?.()), known: 0 };
    if (begun) return !namesOther(begun, this.packet, request);
    const protocol = protocolIn(this.packet, request);
    return protocol === undefined || protocol === 'HTTP';
  }
}

/** Whether a head that ends in this packet and began in one before has one line more that ends in another protocol than it has fields that do. */
function namesOther({ named, end }: Begun, packet: Packet, { rawHeaders }: Request): boolean {
  const text = end + packet.text;
  const length = text.indexOf(END_OF_HEAD) + END_OF_HEAD.length;
  packet.known = length - end.length;
  return named + timesNamed(text.slice(0, length)) > timesNamed(`${rawHeaders.join('\r\n')}\r\n`);
}

/** The protocol that stands behind the method and the target of this request, where the packet has them next with its version; undefined if it has not. */
function protocolIn(packet: Packet, { method = '', url = '', httpVersion }: Request): string | undefined {
  const { text } = packet;
  const start = `${method} `;
  for (let at = text.indexOf(start, packet.known); at >= 0; at = text.indexOf(start, at + 1)) {
    const target = behindSpaces(text, at + start.length);
    if (!text.startsWith(`${url} `, target)) continue;
    PROTOCOL.lastIndex = behindSpaces(text, target + url.length);
    const [, protocol, version] = PROTOCOL.exec(text) ?? [];
    if (version !== httpVersion) continue;
    packet.known = PROTOCOL.lastIndex;
    return protocol;
  }
  return undefined;
}

function behindSpaces(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ') at++;
  return at;
}

function timesNamed(text: string): number {
  return text.match(OTHER_PROTOCOL)?.length ?? 0;
}

function parserOf(socket: Socket): Parser | undefined {
  return (socket as { parser?: Parser }).parser;
}

function latin1(packet: Buffer | undefined): string {
  return packet?.toString('latin1') ?? '';
}
