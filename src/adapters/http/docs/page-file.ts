import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { Request, Response } from 'express';

/** The fewest bytes that are worth compressing. */
const MIN_COMPRESSED = 1_024;

/**
 * A file that everybody may read, kept in memory and compressed once. Ranges and preconditions other than If-None-Match are ignored, as
 * RFC 9110, sections 13.2.1 and 14.2, leave to the server.
 */
export class PageFile {
  private readonly etag: string;
  private readonly bytes: Buffer;
  private compressed: Buffer | undefined;

  /** `caching` is the value of Cache-Control. */
  constructor(
    private readonly type: string,
    content: string | Buffer,
    private readonly caching: string,
    private readonly headers: Readonly<Record<string, string>> = {},
  ) {
    this.bytes = Buffer.from(content);
    this.etag = `W/"${createHash('sha256').update(this.bytes).digest('base64url').slice(0, 22)}"`;
    // Beside the start, which does not wait for it.
    if (this.bytes.length >= MIN_COMPRESSED && !type.startsWith('image/')) {
      void promisify(gzip)(this.bytes).then((bytes) => (this.compressed = bytes));
    }
  }

  /** Answers with the file, or with 304 if the client has it. */
  send(request: Request, response: Response): void {
    response.set({ ...this.headers, ETag: this.etag, 'Cache-Control': this.caching, 'Accept-Ranges': 'none' });
    // Beside what CORS may have put there.
    response.vary('Accept-Encoding');
    if (request.fresh) return void response.writeHead(304).end();
    const compressed = request.acceptsEncodings('gzip') ? this.compressed : undefined;
    if (compressed) response.set('Content-Encoding', 'gzip');
    const bytes = compressed ?? this.bytes;
    response.writeHead(200, { 'Content-Type': this.type, 'Content-Length': bytes.length }).end(bytes);
  }
}
