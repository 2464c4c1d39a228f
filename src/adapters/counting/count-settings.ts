import type { RedisUrl } from './redis-url.js';

/** What is counted for the limits, and with whom. */
export interface CountSettings {
  /** Whether there is any limit. */
  readonly isUsed: boolean;
  /** The Redis through which instances share their counts; undefined if each counts for itself. */
  readonly redis: RedisUrl | undefined;
}
