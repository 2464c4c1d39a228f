import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import type { HeaderList } from '../header-list.js';

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
    private readonly headers: HeaderList = [],
  ) {
    this.bytes = Buffer.from(content);
    this.etag = `W/"${createHash('sha256').update(this.bytes).digest('base64url').slice(0, 22)}"`;
    // Beside the start, which does not wait for it.
    if (this.bytes.length >= MIN_COMPRESSED && !type.startsWith('image/')) {
      void promisify(gzip)(this.bytes).then((bytes) => (this.compressed = bytes));
    }
  }

  /** Answers with the file, or with 304 if the client has it. */
  send(request: IncomingMessage, response: ServerResponse): void {
    const headers = [
      ...['ETag', this.etag, 'Cache-Control', this.caching, 'Vary', 'Accept-Encoding', 'Accept-Ranges', 'none'],
      ...this.headers,
    ];
    if (isListed(this.etag, request.headers['if-none-match'])) {
      response.writeHead(304, headers).end();
      return;
    }
    const body = acceptsGzip(request.headers['accept-encoding']) ? this.compressed : undefined;
    if (body) headers.push('Content-Encoding', 'gzip');
    const bytes = body ?? this.bytes;
    response.writeHead(200, ['Content-Type', this.type, 'Content-Length', String(bytes.length), ...headers]);
    response.end(bytes);
  }
}

/** Whether an If-None-Match names the tag, or any (RFC 9110, section 13.1.2). */
function isListed(etag: string, list: string | undefined): boolean {
  return (
    list?.split(',').some((each) => each.trim() === '*' || each.trim().replace(/^W\//, '') === etag.slice(2)) ?? false
  );
}

/** Whether an Accept-Encoding takes gzip (RFC 9110, section 12.5.3); a client that names nothing of it gets the bytes as they are. */
function acceptsGzip(list = ''): boolean {
  return list.split(',').some((each) => {
    const [coding = '', weight = ''] = each.split(';');
    return coding.trim().toLowerCase() === 'gzip' && !/^q=0(?:\.0*)?$/i.test(weight.trim());
  });
}
