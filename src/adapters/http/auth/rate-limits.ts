import cluster from 'node:cluster';
import type { OnApplicationShutdown } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { LRUCache } from 'lru-cache';
import type { RateLimiterAbstract, RateLimiterRes } from 'rate-limiter-flexible';
import { KeyRejected } from '../../../application/errors.js';
import { ApiKey } from '../../../domain/keys/api-key.js';
import { ApiError } from '../errors/api-error.js';
import type { HttpSettings } from '../http-settings.js';
import type { HeaderList } from '../json-response.js';
import type { Request } from '../server/request.js';
import type { Response } from '../server/response.js';
import { connectRedis } from './redis.js';

/** Finds the key of a request; fails with `KeyRejected` if there is no valid one. */
type KeyCheck = () => ApiKey | Promise<ApiKey>;

/** The window of both limits, in seconds. */
const WINDOW = 60;

/**
 * `RATE_LIMIT` and `AUTH_FAILURE_LIMIT`, counted in this process, in the primary of the workers, or in Redis. The
 * `RateLimit` headers are those of draft-ietf-httpapi-ratelimit-headers-10.
 */
export class RateLimits implements OnApplicationShutdown {
  /**
   * The pairs of an address and a key that was accepted from it. Concurrent requests of a pair that is not trusted yet
   * wait for one check, which counts once.
   */
  private readonly trusted = new LRUCache<string, true, () => Promise<ApiKey>>({
    max: 10_000,
    // For ten minutes after its last success an address may use a key although it has failed too often.
    ttl: 600_000,
    updateAgeOnGet: true,
    fetchMethod: (_pair, _stale, { context: check }) => check().then(() => true),
    // A pair that is removed meanwhile fails no request.
    ignoreFetchAbort: true,
  });

  private constructor(
    private readonly requests?: RateLimiterAbstract,
    private readonly failures?: RateLimiterAbstract,
    /** Through which instances share the limits. */
    readonly redis?: Redis,
  ) {}

  /** Creates the limiters of the settings. */
  static async open(settings: HttpSettings): Promise<RateLimits> {
    const { RATE_LIMIT, AUTH_FAILURE_LIMIT, RATE_LIMIT_URL: url } = settings;
    if (!RATE_LIMIT && !AUTH_FAILURE_LIMIT) return new RateLimits();
    const { RateLimiterCluster, RateLimiterMemory, RateLimiterRedis } = await import('rate-limiter-flexible');
    const redis = url === undefined ? undefined : await connectRedis(url);
    const limiter = (name: string, points: number | undefined) => {
      if (points === undefined) return undefined;
      const options = { keyPrefix: `petstore:${name}`, points, duration: WINDOW };
      const local = cluster.isWorker
        ? new RateLimiterCluster({ ...options, timeoutMs: 1_000 })
        : new RateLimiterMemory(options);
      if (!redis) return local;
      return new RateLimiterRedis({ ...options, storeClient: redis, insuranceLimiter: local });
    };
    return new RateLimits(limiter('requests', RATE_LIMIT), limiter('failures', AUTH_FAILURE_LIMIT), redis);
  }

  onApplicationShutdown(): void {
    this.redis?.disconnect();
  }

  /** Counts a request and adds the `RateLimit` headers to its response; throws `rate_limited` beyond the limit. */
  countRequest({ digest }: ApiKey, { standing }: Response): Promise<unknown> | undefined {
    return this.requests && consume(this.requests, 'key', digest).then((headers) => standing.push(...headers));
  }

  /**
   * The key that `check` finds; throws `rate_limited` if the address of the request has failed too often, unless that
   * address has used the key successfully.
   */
  authenticate(request: Request, check: KeyCheck): ApiKey | Promise<ApiKey> {
    return this.failures ? this.authenticateLimited(this.failures, request, check) : check();
  }

  private async authenticateLimited(limiter: RateLimiterAbstract, request: Request, check: KeyCheck): Promise<ApiKey> {
    const address = networkOf(request.socket.remoteAddress ?? '');
    const { authorization = '' } = request.headers;
    const pair = `${address} ${authorization.slice(authorization.lastIndexOf(' ') + 1)}`;
    await this.trusted.fetch(pair, { context: () => checkCounted(limiter, address, check) });
    try {
      // Also for a trusted pair, whose key may have been revoked.
      return await check();
    } catch (error) {
      if (error instanceof KeyRejected) {
        // Revoked or expired: its failures count like those of any other key.
        this.trusted.delete(pair);
        await limiter.consume(address).catch(() => undefined);
      }
      throw error;
    }
  }
}

/**
 * Counts a failure before the check, and takes it back unless the key is rejected: so no more keys than allowed are
 * checked, however many arrive at once.
 */
async function checkCounted(limiter: RateLimiterAbstract, address: string, check: KeyCheck): Promise<ApiKey> {
  let isFailure = false;
  try {
    await consume(limiter, 'address', address);
    return await check();
  } catch (error) {
    isFailure = error instanceof KeyRejected;
    throw error;
  } finally {
    if (!isFailure) void limiter.reward(address).catch(() => undefined);
  }
}

/** Consumes a point and resolves to the `RateLimit` headers; rejects with `rate_limited` beyond the limit. */
async function consume(limiter: RateLimiterAbstract, policy: 'key' | 'address', of: string): Promise<HeaderList> {
  const { points } = limiter;
  // Beyond the limit it rejects with the count.
  const result = await limiter.consume(of).catch((excess: RateLimiterRes | Error) => excess);
  // It cannot be counted: a primary of workers that hangs must not fail requests.
  if (result instanceof Error) return [];
  const seconds = Math.max(1, Math.ceil(result.msBeforeNext / 1000));
  const left = Math.max(0, points - result.consumedPoints);
  const headers = [
    ...['RateLimit-Policy', `"${policy}";q=${points};w=${WINDOW}`],
    ...['RateLimit', `"${policy}";r=${left};t=${seconds}`],
  ];
  if (result.consumedPoints <= points) return headers;
  const rule =
    policy === 'key'
      ? `This API key may make ${points} requests in a minute`
      : `An address may fail to authenticate ${points} times in a minute`;
  const message = `${rule}; try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
  throw new ApiError('rate_limited', message, ['Retry-After', String(seconds), ...headers]);
}

/** An IPv4 address, or the first 64 bits of an IPv6 address, because a client has all addresses with the same ones. */
function networkOf(address: string): string {
  const unmapped = address.replace(/^::ffff:(?=[\d.]+$)/i, '');
  const zeros = ':0'.repeat(9 - unmapped.split(':').length);
  return unmapped.replace('::', `${zeros}:`).split(':').slice(0, 4).join(':');
}
