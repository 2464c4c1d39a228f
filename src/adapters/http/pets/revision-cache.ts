import { Injectable } from '@nestjs/common';
import type { HeaderList } from '../header-list.js';

/** What is answered with 200: the body, and the headers that belong to it. */
export interface Answer<Body = string | Buffer> {
  readonly body: Body;
  readonly headers: HeaderList;
}

interface Entry extends Answer {
  readonly revision: number;
  /** What it counts, in bytes. */
  readonly size: number;
}

/** The most bytes that are kept: 16 MiB. */
export const CAPACITY = 2 ** 24;

/** How many bytes are made free at a time. */
const ROOM = CAPACITY / 32;

/** From how many characters on a text is kept as bytes: what is shorter Node sends cheaper as a text, in one piece with the head. */
const LONG = 4_096;

/** What an entry takes besides its texts, in bytes. */
const OVERHEAD = 512;

/**
 * Finished answers by request target, each for as long as the store has the revision at which it was read. While nothing is written
 * on SQLite, a page of 20 pets is answered three times as fast, and one of 100 ten times.
 */
@Injectable()
export class RevisionCache {
  /** The oldest comes first. */
  private readonly entries = new Map<string, Entry>();
  private size = 0;

  /** The answer to a target, if one is kept that was read at this revision of the store. */
  get(target: string, revision: number | undefined): Answer | undefined {
    const entry = this.entries.get(target);
    return entry && entry.revision === revision ? entry : undefined;
  }

  /** Keeps an answer, and returns it. The revision is the store's from before it was read; if it is undefined, nothing is kept. */
  keep(target: string, revision: number | undefined, answer: Answer<string>): Answer {
    if (revision === undefined) return answer;
    const { body, headers } = answer;
    const bytes = body.length < LONG ? body : ownBytes(body);
    const size = OVERHEAD + target.length + Buffer.byteLength(bytes) + headers.join().length;
    this.remove(target);
    this.entries.set(target, { revision, body: bytes, headers, size });
    this.size += size;
    if (this.size > CAPACITY) this.makeRoom();
    return answer;
  }

  /**
   * Many at a time: a walk through a Map passes over all that were removed at its beginning, thousands of them. One that is begun and kept has
   * V8 keep every table that the Map has had since.
   */
  private makeRoom(): void {
    for (const oldest of this.entries.keys()) {
      if (this.size <= CAPACITY - ROOM) break;
      this.remove(oldest);
    }
  }

  private remove(target: string): void {
    this.size -= this.entries.get(target)?.size ?? 0;
    this.entries.delete(target);
  }
}

/** Those of `Buffer.from` may be a part of Node's pool (`Buffer.poolSize`), which would be kept whole. */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}
