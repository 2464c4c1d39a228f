import { Request } from '../request.js';

/** The packet that Node's parser is reading, and how far its request lines are known. */
interface Packet {
  readonly socket: unknown;
  readonly text: string;
  known: number;
}

let latest: Packet | undefined;

/**
 * Whether the request names HTTP, and not RTSP or ICE. Node's parser takes all three, and does not tell which it was; that is seen in the
 * packet that it is reading at the moment of the call, unless that begins behind the request line. Looked at are the requests of version
 * 1.0, which RTSP and ICE have, and the first of a connection: to look at each packet costs 1 us and more.
 */
export function namesHttp(request: Request, isFirst: boolean): boolean {
  if (request.httpVersion !== '1.0' && !isFirst) return true;
  const packet = latest?.socket === request.socket ? latest : undefined;
  const protocol = (packet && protocolIn(packet, request)) ?? protocolIn(packetOf(request), request);
  return protocol === undefined || protocol === 'HTTP/';
}

/** What stands behind the method and the target of this request, where the packet has them next; undefined if it has not. */
function protocolIn(packet: Packet, { method = '', url = '', httpVersion, socket }: Request): string | undefined {
  const { text } = packet;
  // Of another version only the first of a connection is looked at, with which its first packet begins.
  if (httpVersion !== '1.0' && socket.bytesRead > text.length) return undefined;
  const start = `${method} `;
  for (let at = text.indexOf(start, packet.known); at >= 0; at = text.indexOf(start, at + 1)) {
    const target = behindSpaces(text, at + start.length);
    if (!text.startsWith(`${url} `, target)) continue;
    packet.known = behindSpaces(text, target + url.length);
    const end = text.indexOf('/', packet.known) + 1;
    // The packet ends within the next line that begins so: the one that is looked for began in the packet before.
    return end > 0 ? text.slice(packet.known, end) : undefined;
  }
  return undefined;
}

function behindSpaces(text: string, from: number): number {
  let at = from;
  while (text[at] === ' ') at++;
  return at;
}

/** Asks for a packet once for all requests that it brings: Node copies it each time. */
function packetOf({ socket }: Request): Packet {
  const { parser } = socket as { parser?: { getCurrentBuffer?(): Buffer | undefined } | null };
  latest = { socket, text: parser?.getCurrentBuffer?.()?.toString('latin1') ?? '', known: 0 };
  process.nextTick(() => (latest = undefined));
  return latest;
}
