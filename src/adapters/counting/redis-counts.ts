import { setTimeout as delay } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { RateLimiterRedis } from 'rate-limiter-flexible';
import { Counted, Taken, WINDOW } from './counts.js';
import type { SharedCounts } from './insured-counts.js';
import { RedisUrl } from './redis-url.js';

/** How long a start waits for Redis, in milliseconds. */
const START_PATIENCE = 1_000;

/** How long to wait before Redis is connected to again, in milliseconds. */
const RETRY_INTERVAL = 500;

/** After what time without any answer a connection is taken for dead, in milliseconds. */
const SILENCE = 5_000;

/** What a failure adds to a count: above it are those that failed, below it those that were counted. */
const FAILURE = 2 ** 30;

/**
 * Changes the count of a window by ARGV[1], unless it has ended: the one that there is has no more time left than the one that is meant
 * had, ARGV[2] in milliseconds.
 */
const SETTLE = `
local left = redis.call('pttl', KEYS[1])
if left >= 0 and left <= tonumber(ARGV[2]) then redis.call('incrby', KEYS[1], ARGV[1]) end`;

/** Counts in Redis, shared by all that have the same `RATE_LIMIT_URL`. */
export class RedisCounts implements SharedCounts {
  /** What a person does not notice. */
  readonly patience = 100;
  /** How many connections have ended: what was counted by one of them may be lost. */
  private ended = 0;
  /** Why there is no connection. */
  private trouble: Error | undefined;

  private constructor(
    private readonly redis: Redis,
    private readonly database: number,
    private readonly limiters: Readonly<Record<Counted, RateLimiterRedis>>,
  ) {
    // The first says why, as a wrong password does; what follows from it says less.
    redis.on('error', (error: Error) => (this.trouble ??= error));
    redis.on('connecting', () => (this.trouble = undefined));
    redis.on('close', () => this.ended++);
  }

  /** Connects; resolves once there is a connection, or a second has gone without one: then it goes on trying. */
  static async connect(url: RedisUrl): Promise<RedisCounts> {
    const { RateLimiterRedis } = await import('rate-limiter-flexible');
    const redis = await connection(url, () => RETRY_INTERVAL);
    const limiter = (what: Counted) =>
      new RateLimiterRedis({
        storeClient: redis,
        keyPrefix: `petstore:${what}`,
        // Whether it was too many is for who asks.
        points: 1,
        duration: WINDOW,
        rejectIfRedisNotReady: true,
      });
    const counts = new RedisCounts(redis, url.database, {
      requests: limiter('requests'),
      guesses: limiter('guesses'),
    });
    const connected = new AbortController();
    redis.once('ready', () => connected.abort()).once('error', () => connected.abort());
    await delay(START_PATIENCE, undefined, connected).catch(() => undefined);
    return counts;
  }

  async take(what: Counted, name: string): Promise<Taken> {
    const { ended, limiters } = this;
    const { consumedPoints, msBeforeNext } = await limiters[what].penalty(name);
    const settle = (change: number) => {
      if (ended !== this.ended) return;
      const key = limiters[what].getKey(name);
      // If it gets lost, it counts until the window ends.
      this.redis.eval(SETTLE, 1, key, change, msBeforeNext).catch(() => undefined);
    };
    return {
      used: consumedPoints % FAILURE,
      failed: Math.floor(consumedPoints / FAILURE),
      seconds: Math.max(1, Math.ceil(msBeforeNext / 1000)),
      giveBack: () => settle(-1),
      fail: () => settle(FAILURE),
    };
  }

  async try(): Promise<void> {
    // Redis would otherwise go on with database 0 if there is none of this number.
    if (this.database !== 0) await this.redis.select(this.database);
    await this.take('requests', 'trial');
  }

  reasonOf(error: unknown): string {
    return redisTrouble(this.trouble ?? (error as Error));
  }

  close(): void {
    this.redis.disconnect();
  }
}

/** A connection to Redis, which is tried again after so many milliseconds, if any. What cannot be asked at once fails, and nothing is asked twice. */
export async function connection(url: RedisUrl, retryStrategy: () => number | null): Promise<Redis> {
  const { Redis } = await import('ioredis');
  const { host, port, user, password, database, tls } = url;
  return new Redis({
    host,
    port,
    ...(user !== undefined && { username: user }),
    ...(password !== undefined && { password }),
    db: database,
    ...(tls && { tls: {} }),
    connectionName: 'petstore',
    disableClientInfo: true,
    retryStrategy,
    connectTimeout: SILENCE,
    socketTimeout: SILENCE,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
  });
}

/** What went wrong, without what was sent: an answer to a wrong command repeats its arguments, and a password is one. */
export function redisTrouble(error: Error): string {
  if (error.name === 'ReplyError') return /^[A-Z]+/.exec(error.message)?.[0] ?? 'an error';
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
