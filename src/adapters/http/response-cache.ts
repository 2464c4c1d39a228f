import { LRUCache } from 'lru-cache';
import type { HeaderList } from './send.js';

/** A response with status 200. */
export interface CachedResponse {
  readonly body: string;
  readonly headers: HeaderList;
}

/**
 * Responses by request target and version of the database (`PetRepository.version`). On SQLite a page of 20 pets is
 * sent twice as fast. Earlier versions are left to the LRU: clearing a large cache at each write takes milliseconds.
 */
export class ResponseCache {
  private readonly responses = new LRUCache<string, CachedResponse>({
    maxSize: 32 * 1024 * 1024,
    // In bytes: a string may take two bytes for each character, and an entry takes some 256 besides.
    sizeCalculation: ({ body }, key) => 256 + 2 * (key.length + body.length),
  });

  /** The cached response, or what `read` resolves to; `version` is the current one, undefined if it is not known. */
  async get(target: string, version: number | undefined, read: () => Promise<CachedResponse>): Promise<CachedResponse> {
    if (version === undefined) return read();
    const key = `${version} ${target}`;
    const cached = this.responses.get(key);
    if (cached) return cached;
    const response = await read();
    this.responses.set(key, response);
    return response;
  }
}
