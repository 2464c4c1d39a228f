import type { HeaderList } from '../header-list.js';

/** What is answered with 200: the body, and the headers that belong to it. */
export interface Answer {
  readonly body: string;
  /** `latin1` if the characters of the body are its bytes in UTF-8. */
  readonly encoding?: 'latin1';
  readonly headers: HeaderList;
}

interface Entry extends Answer {
  /** What it counts, in bytes. */
  readonly size: number;
}

/** The most bytes that a cache keeps: 16 MiB. */
export const CAPACITY = 2 ** 24;

/** Of how many targets is known at most that they were asked for: few, so that of very many next to none is found again. */
const ASKED = 2 ** 12;

/** What an entry takes besides its texts, in bytes. */
const OVERHEAD = 256;

/**
 * Finished answers by request target, for as long as the store has the revision at which they were read. While nothing is written
 * on SQLite, a page of 20 pets is answered three times as fast, and one of 100 ten times.
 */
export class RevisionCache {
  /** The store's when an answer was last asked for. */
  private revision: number | undefined;

  /** Those kept last, up to half of the capacity. */
  private recent = new Map<string, Entry>();

  /** Those kept before, which go together when the recent ones take their place: whoever looks for the oldest of a Map passes over all that went before it. */
  private older = new Map<string, Entry>();

  /** What the recent ones count, in bytes. */
  private size = 0;

  /** What is being read at this revision. */
  private readonly underWay = new Map<string, Promise<Answer>>();

  /** For each place of a target's hash the hash of one that was asked for at this revision. */
  private readonly asked = new Uint32Array(ASKED);

  /** The answer to a target, if one is kept that was read at this revision of the store; those read at another one are forgotten. */
  get(target: string, revision: number | undefined): Answer | undefined {
    if (revision !== this.revision) this.begin(revision);
    return this.recent.get(target) ?? this.older.get(target);
  }

  /**
   * Reads an answer, unless the same one is being read at this revision, and keeps it: behind each write many ask for the same page. With one read for
   * all of them 16 clients that read and 16 that write at the same time get two fifths more done. Who waited for what could not be read
   * reads by itself.
   */
  async read(target: string, revision: number | undefined, read: () => Promise<Answer>): Promise<Answer> {
    if (revision === undefined) return read();
    const underWay = this.underWay.get(target);
    if (underWay) {
      try {
        return await underWay;
      } catch {
        // It may be the other one's time that is up.
      }
    }
    const reading = read();
    this.underWay.set(target, reading);
    try {
      return this.keep(target, revision, await reading);
    } finally {
      if (this.underWay.get(target) === reading) this.underWay.delete(target);
    }
  }

  /**
   * Keeps an answer, and returns it, if its target was asked for at this revision shortly before: of very many each is asked for once, and to keep
   * them all costs a tenth of a request.
   */
  keepRepeated(target: string, revision: number | undefined, answer: Answer): Answer {
    if (revision === undefined) return answer;
    const hash = hashOf(target);
    const place = hash % ASKED;
    if (this.asked[place] === hash) return this.keep(target, revision, answer);
    // If each took the place of the one before, those that share it and are asked for in turn would never be kept.
    if (this.asked[place] === 0 || Math.random() < 0.5) this.asked[place] = hash;
    return answer;
  }

  /** Keeps an answer if the revision at which it was asked for is still the last one, and returns it. */
  private keep(target: string, revision: number, answer: Answer): Answer {
    if (revision !== this.revision) return answer;
    const { body, headers } = answer;
    // As a text in one piece with the head Node sends them cheaper than as a buffer behind it, and cheaper than what it has to encode.
    const bytes = Buffer.from(body).toString('latin1');
    const size = OVERHEAD + target.length + bytes.length + headers.join().length;
    const replaced = this.recent.get(target)?.size ?? 0;
    if (this.size - replaced + size > CAPACITY / 2) {
      this.older = this.recent;
      this.recent = new Map();
      this.size = 0;
    } else this.size -= replaced;
    this.recent.set(ownText(target), { body: bytes, encoding: 'latin1', headers, size });
    this.size += size;
    return answer;
  }

  private begin(revision: number | undefined): void {
    this.revision = revision;
    this.size = 0;
    this.asked.fill(0);
    for (const each of [this.recent, this.older, this.underWay]) each.clear();
  }
}

/** A hash of a text's last 20 characters, in 32 bits: those of ids that follow each other do so too. */
function hashOf(text: string): number {
  let hash = 0;
  for (let i = Math.max(0, text.length - 20); i < text.length; i++) hash = Math.imul(hash, 10) + text.charCodeAt(i);
  return hash >>> 0;
}

/** A text that was cut out of a longer one holds that one. */
function ownText(text: string): string {
  return Buffer.from(text).toString();
}
