import cluster from 'node:cluster';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { KeyRejected } from '../../../application/errors.js';
import { ApiKey } from '../../../domain/keys/api-key.js';
import type { Settings } from '../../../settings/settings.js';
import { ApiError } from '../errors/api-error.js';
import type { HeaderList } from '../json-response.js';
import type { RequestContext } from '../request-context.js';
import { connectRedis } from './redis.js';

/** What is limited: the requests of a key, or the failures of an address. */
type Policy = 'key' | 'address';

/** The window of both limits, in seconds. */
const WINDOW = 60;

/**
 * `RATE_LIMIT` and `AUTH_FAILURE_LIMIT`, counted in this process, in the primary of the workers, or in Redis. The
 * `RateLimit` headers are those of draft-ietf-httpapi-ratelimit-headers-10.
 */
export class RateLimits implements OnApplicationShutdown {
  /** The pairs of an address and a key that was accepted from it. */
  private readonly trusted = new LRUCache<string, true>({
    max: 10_000,
    // For ten minutes after its last success an address may use a key although it has failed too often.
    ttl: 600_000,
  });

  private constructor(
    private readonly requests?: RateLimiterAbstract,
    private readonly failures?: RateLimiterAbstract,
    /** Through which instances share the limits. */
    private readonly redis?: Redis,
  ) {}

  static async open(settings: Settings): Promise<RateLimits> {
    const { RATE_LIMIT, AUTH_FAILURE_LIMIT, RATE_LIMIT_URL: url } = settings;
    if (!RATE_LIMIT && !AUTH_FAILURE_LIMIT) return new RateLimits();
    const { RateLimiterCluster, RateLimiterMemory, RateLimiterRedis } = await import('rate-limiter-flexible');
    const redis = url === undefined ? undefined : await connectRedis(url);
    const limiter = (name: string, points: number | undefined): RateLimiterAbstract | undefined => {
      if (points === undefined) return undefined;
      const options = { keyPrefix: `petstore:${name}`, points, duration: WINDOW };
      const local = cluster.isWorker
        ? new RateLimiterCluster({ ...options, timeoutMs: 1_000 })
        : new RateLimiterMemory(options);
      return redis ? new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: local }) : local;
    };
    return new RateLimits(limiter('requests', RATE_LIMIT), limiter('failures', AUTH_FAILURE_LIMIT), redis);
  }

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }

  /** Counts a request, adds `RateLimit` headers to its response, and rejects with `rate_limited` beyond the limit. */
  countRequest({ owner }: ApiKey, { responseHeaders }: RequestContext): Promise<unknown> | undefined {
    return this.requests && consume(this.requests, 'key', owner).then((headers) => responseHeaders.push(...headers));
  }

  /**
   * Resolves and rejects as `findKey` does; rejects also with `rate_limited` if this client has sent too many wrong
   * keys, unless it has used this one successfully.
   */
  async authenticate(address: string, token: string, findKey: () => Promise<ApiKey>): Promise<ApiKey> {
    const limiter = this.failures;
    if (!limiter) return findKey();
    const pair = `${address} ${token}`;
    const isTrusted = this.trusted.get(pair) ?? false;
    if (!isTrusted) await requireFewFailures(limiter, address);
    try {
      const key = await findKey();
      // Again: guesses at the same time may have used up the limit. Then a valid key is rejected, too.
      if (!isTrusted) await requireFewFailures(limiter, address);
      this.trusted.set(pair, true);
      return key;
    } catch (error) {
      if (error instanceof KeyRejected) {
        // A trusted key that is rejected has been revoked or has expired.
        this.trusted.delete(pair);
        await consume(limiter, 'address', address);
      }
      throw error;
    }
  }
}

/** Consumes a point and resolves to the `RateLimit` headers; rejects with `rate_limited` beyond the limit. */
async function consume(limiter: RateLimiterAbstract, policy: Policy, id: string): Promise<HeaderList> {
  // It rejects with the count if the limit is exceeded.
  const result = await limiter.consume(id).catch((excess: RateLimiterRes | Error) => excess);
  // It cannot be counted: a primary of workers that hangs must not fail requests.
  if (result instanceof Error) return [];
  if (result.consumedPoints > limiter.points) throw rateLimited(limiter, policy, result);
  return headersOf(limiter, policy, result);
}

/** Rejects with `rate_limited` if one more failure of the address would be beyond the limit. */
async function requireFewFailures(limiter: RateLimiterAbstract, address: string): Promise<void> {
  const failures = await limiter.get(address).catch(() => null);
  // The window of a count that the limiter has not deleted yet may have ended.
  if (failures && failures.msBeforeNext > 0 && failures.consumedPoints >= limiter.points)
    throw rateLimited(limiter, 'address', failures);
}

function rateLimited(limiter: RateLimiterAbstract, policy: Policy, result: RateLimiterRes): ApiError {
  const { points } = limiter;
  const seconds = secondsLeft(result);
  const rule =
    policy === 'key'
      ? `This API key may make ${points} requests in a minute`
      : `An address may send ${points} wrong API keys in a minute`;
  const message = `${rule}; try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
  const headers = headersOf(limiter, policy, result);
  return new ApiError('rate_limited', message, ['Retry-After', String(seconds), ...headers]);
}

function headersOf({ points }: RateLimiterAbstract, policy: Policy, result: RateLimiterRes): HeaderList {
  const left = Math.max(0, points - result.consumedPoints);
  const rule = `"${policy}";q=${points};w=${WINDOW}`;
  return ['RateLimit-Policy', rule, 'RateLimit', `"${policy}";r=${left};t=${secondsLeft(result)}`];
}

/** At most the window: the limiter has ended it by then, but tells what is left by the clock, which may be set back. */
const secondsLeft = ({ msBeforeNext }: RateLimiterRes): number =>
  Math.min(WINDOW, Math.max(1, Math.ceil(msBeforeNext / 1000)));
