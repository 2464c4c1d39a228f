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

/** An answer that is being read, and the revision of the store from before. */
interface Reading {
  readonly revision: number;
  readonly answer: Promise<Answer<string>>;
}

/** The most bytes that are kept: 16 MiB. */
export const CAPACITY = 2 ** 24;

/** From how many characters on a text is kept as bytes: what is shorter Node sends cheaper as a text, in one piece with the head. */
const LONG = 4_096;

/** What an entry takes besides its texts, in bytes. */
const OVERHEAD = 256;

/**
 * Finished answers by request target, each for as long as the store has the revision at which it was read. While nothing is written
 * on SQLite, a page of 20 pets is answered three times as fast, and one of 100 ten times.
 */
@Injectable()
export class RevisionCache {
  /** Those kept last, up to half of the capacity. */
  private recent = new Map<string, Entry>();

  /** Those kept before, which go together when the recent ones take their place: whoever looks for the oldest of a Map passes over all that went before it. */
  private older = new Map<string, Entry>();

  /** What the recent ones count, in bytes. */
  private size = 0;

  private readonly underWay = new Map<string, Reading>();

  /** The answer to a target, if one is kept that was read at this revision of the store. */
  get(target: string, revision: number | undefined): Answer | undefined {
    const entry = this.recent.get(target) ?? this.older.get(target);
    return entry && entry.revision === revision ? entry : undefined;
  }

  /**
   * Reads an answer, unless the same one is being read at this revision, and keeps it: behind each write many ask for the same page. With one read for
   * all of them 16 clients that read and 16 that write at the same time get two fifths more done. Who waited for what could not be read
   * reads by itself.
   */
  async read(target: string, revision: number | undefined, read: () => Promise<Answer<string>>): Promise<Answer> {
    if (revision === undefined) return read();
    const underWay = this.underWay.get(target);
    if (underWay?.revision === revision) {
      try {
        return await underWay.answer;
      } catch {
        // It may be the other one's time that is up.
      }
    }
    const reading = { revision, answer: read() };
    this.underWay.set(target, reading);
    try {
      return this.keep(target, revision, await reading.answer);
    } finally {
      if (this.underWay.get(target) === reading) this.underWay.delete(target);
    }
  }

  /** Keeps an answer, and returns it. The revision is the store's from before it was read; if it is undefined, nothing is kept. */
  keep(target: string, revision: number | undefined, answer: Answer<string>): Answer {
    if (revision === undefined) return answer;
    const { body, headers } = answer;
    const bytes = body.length < LONG ? body : ownBytes(body);
    const size = OVERHEAD + target.length + sizeOf(bytes) + headers.join().length;
    const replaced = this.recent.get(target)?.size ?? 0;
    if (this.size - replaced + size > CAPACITY / 2) {
      this.older = this.recent;
      this.recent = new Map();
      this.size = 0;
    } else this.size -= replaced;
    this.recent.set(ownText(target), { revision, body: bytes, headers, size });
    this.size += size;
    return answer;
  }
}

/** How many bytes a text takes that is kept: one for each character, or two if there is one beyond Latin-1. */
function sizeOf(kept: string | Buffer): number {
  return kept.length === Buffer.byteLength(kept) ? kept.length : 2 * kept.length;
}

/** A text that was cut out of a longer one holds that one. */
function ownText(text: string): string {
  return Buffer.from(text).toString();
}

/** Those of `Buffer.from` may be a part of Node's pool (`Buffer.poolSize`), which would be kept whole. */
function ownBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
}
