import { LRUCache } from 'lru-cache';
import type { JsonResponse } from './json-response.js';

/**
 * Responses by request target and version of the database (`PetRepository.version`). On SQLite a page of 20 pets is
 * sent twice as fast. Earlier versions are left to the LRU: clearing a large cache at each write takes milliseconds.
 */
export class ResponseCache {
  private readonly responses = new LRUCache<string, JsonResponse>({
    maxSize: 32 * 1024 * 1024,
    // In bytes: a string may take two bytes for each character, and an entry takes some 256 besides.
    sizeCalculation: ({ body = '' }, key) => 256 + 2 * (key.length + body.length),
  });

  /** The cached response, or what `read` resolves to; `version` is the current one, undefined if it is not known. */
  async get(target: string, version: number | undefined, read: () => Promise<JsonResponse>): Promise<JsonResponse> {
    if (version === undefined) return read();
    const key = `${version} ${target}`;
    const cached = this.responses.get(key);
    if (cached) return cached;
    const response = await read();
    this.responses.set(key, response);
    return response;
  }
}
