import type { ServerResponse } from 'node:http';
import type { HeaderList } from './header-list.js';

/**
 * Sends a JSON text, which nobody but its client may keep (RFC 9111, section 5.2.2.5); of `latin1`, if its characters are the bytes to send.
 */
export function sendJson(
  response: ServerResponse,
  status: number,
  body: string,
  headers: HeaderList = [],
  encoding: 'latin1' | 'utf8' = 'utf8',
): void {
  // The client was refused meanwhile, for what it sent behind the head.
  if (response.headersSent) return;
  const length = Buffer.byteLength(body, encoding);
  response.writeHead(status, [
    'Content-Type',
    'application/json',
    'Content-Length',
    String(length),
    'Cache-Control',
    'no-store',
    ...headers,
  ]);
  // Node writes what is given to `end` apart from what ends it, and so by a list of buffers: as one text an answer takes a tenth less of the processor.
  response.cork();
  // A text of ASCII alone is the same in both encodings, and Node writes the shorter one sooner.
  response.write(body, length === body.length ? 'latin1' : encoding);
  response.uncork();
  response.end();
}

/** Sends an answer of 204, which has no body. */
export function sendNoContent(response: ServerResponse, headers: HeaderList = []): void {
  if (response.headersSent) return;
  response.writeHead(204, [...headers, 'Cache-Control', 'no-store']);
  response.end();
}
