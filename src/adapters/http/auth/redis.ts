import { setTimeout as delay } from 'node:timers/promises';
import { Logger } from '@nestjs/common';
import type { Redis } from 'ioredis';
import type { RateLimiterAbstract } from 'rate-limiter-flexible';
import { type Finding, ok, warn } from '../../../application/finding.js';

const logger = new Logger('limits');

/** What is used of a limiter of rate-limiter-flexible. */
export type Limiter = Pick<RateLimiterAbstract, 'points' | 'consume' | 'get'>;

/** How long the start waits for the connection, in milliseconds: Redis may be loading its data. */
const START_TIMEOUT = 1_000;

/** After how long without a failure Redis is available again, in milliseconds. */
const SETTLE = 5_000;

/** Redis, in which instances count together. Its commands fail at once while it is not connected. */
export class SharedRedis {
  /** On the clock of `performance.now()`. */
  private failedAt = -Infinity;
  private isLost = false;

  private constructor(
    readonly client: Redis,
    private readonly name: string,
  ) {
    // The first error of a connection has the reason, such as a wrong password.
    client.on('error', (error: Error) => this.lose(error));
  }

  /** Connects, and reconnects whenever the connection is lost. Resolves after the first attempt, at most 1 s. */
  static async connect(url: string): Promise<SharedRedis> {
    const client = await clientOf(url);
    const redis = new SharedRedis(client, nameOf(url));
    await firstAttempt(client);
    return redis;
  }

  /**
   * A limiter that counts in Redis; if that fails, the local one counts. Not the library's `insuranceLimiter`, which
   * tells of no failure.
   */
  limiter(shared: Limiter, local: Limiter): Limiter {
    const count = async <T>(by: (limiter: Limiter) => Promise<T>): Promise<T> => {
      try {
        const result = await by(shared);
        this.recover();
        return result;
      } catch (error) {
        if (error instanceof Error) {
          this.lose(error);
          return by(local);
        }
        // The count, as the limit is exceeded.
        this.recover();
        throw error;
      }
    };
    const { points } = local;
    return { points, consume: (id) => count((each) => each.consume(id)), get: (id) => count((each) => each.get(id)) };
  }

  private lose(error: Error): void {
    const now = performance.now();
    if (now > this.failedAt + SETTLE)
      logger.warn(`${this.name} is not available (${reasonOf(error)}): limits are not shared.`);
    this.failedAt = now;
    this.isLost = true;
  }

  private recover(): void {
    if (!this.isLost || this.client.status !== 'ready' || performance.now() < this.failedAt + SETTLE) return;
    this.isLost = false;
    logger.warn(`${this.name} is available again: limits are shared.`);
  }
}

/** Asks Redis to count, as requests do, for `petstore check`. */
export async function redisFinding(url: string): Promise<Finding> {
  const client = await clientOf(url);
  let reason = 'no answer';
  client.once('error', (error: Error) => (reason = reasonOf(error)));
  client.on('error', () => undefined);
  try {
    await firstAttempt(client);
    const { RateLimiterRedis } = await import('rate-limiter-flexible');
    const limiter = new RateLimiterRedis({ keyPrefix: 'petstore:check', points: 1, duration: 1, storeClient: client });
    if (client.status === 'ready') {
      // It rejects with the count, too, if another check has just counted.
      const result: unknown = await limiter.consume('').catch((error: unknown) => error);
      if (!(result instanceof Error)) return ok('Redis', nameOf(url));
      reason = reasonOf(result);
    }
    return warn('Redis', `${nameOf(url)} is not available (${reason}).`, 'Until it is, instances do not share limits.');
  } finally {
    client.disconnect();
  }
}

async function clientOf(url: string): Promise<Redis> {
  const { Redis } = await import('ioredis');
  return new Redis(url, {
    lazyConnect: true,
    connectionName: 'petstore',
    disableClientInfo: true,
    retryStrategy: () => 500,
    connectTimeout: 1_000,
    socketTimeout: 1_000,
    // How long a request waits for Redis, in milliseconds.
    commandTimeout: 200,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
  });
}

/** Without the user and the password. */
function nameOf(url: string): string {
  const { protocol, host, pathname } = new URL(url);
  return `Redis at ${protocol}//${host}${pathname}`;
}

/** Resolves once the first attempt to connect has succeeded or failed, at most after a second. */
async function firstAttempt(client: Redis): Promise<void> {
  await Promise.race([client.connect(), delay(START_TIMEOUT, undefined, { ref: false })]).catch(() => undefined);
}

/** The reason without the command: Redis repeats its arguments, such as the password. */
function reasonOf(error: Error): string {
  if (error.name === 'ReplyError') return /^[A-Z]+/.exec(error.message)?.[0] ?? 'an error';
  return (error as NodeJS.ErrnoException).code ?? error.message;
}
