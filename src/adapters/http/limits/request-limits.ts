import { Injectable } from '@nestjs/common';
import { ApiKey } from '../../../domain/keys/api-key.js';
import { ApiError } from '../errors/api-error.js';
import type { HeaderList } from '../header-list.js';
import { HttpSettings } from '../http-settings.js';
import type { Request } from '../server/request.js';
import type { Response } from '../server/response.js';
import { networkOf } from './network-of.js';
import { Left, WINDOW, Windows } from './fixed-window.js';

/**
 * How many requests a key may make in a minute, and how often a client's address may fail to authenticate; neither where it is
 * not set. Each instance counts for itself. The `RateLimit` headers are those of draft-ietf-httpapi-ratelimit-headers-10.
 */
@Injectable()
export class RequestLimits {
  private readonly requests: Windows | undefined;
  private readonly failures: Windows | undefined;

  constructor({ rateLimit, authFailureLimit }: HttpSettings) {
    if (rateLimit !== undefined) this.requests = new Windows(rateLimit);
    if (authFailureLimit !== undefined) this.failures = new Windows(authFailureLimit);
  }

  /** Whether failures to authenticate are counted. */
  get countsFailures(): boolean {
    return this.failures !== undefined;
  }

  /** Counts a request that was made with a key, and has its answer tell what is left; throws `rate_limited` where it was too many. */
  countRequest(key: ApiKey, response: Response): void {
    if (!this.requests) return;
    const left = this.requests.take(key.digest);
    response.standing.push(...rateLimit('key', this.requests.limit, left));
    if (left.remaining < 0) {
      throw tooMany(`This API key may make ${this.requests.limit} requests in a minute`, left);
    }
  }

  /** Counts a failure of the address that a request comes from; throws `rate_limited` where it was one too many. */
  countFailure(request: Request): void {
    this.refuse(this.failures?.take(networkOf(request.socket.remoteAddress ?? '')), -1);
  }

  /** Throws `rate_limited` where the address that a request comes from may not fail any more. */
  checkFailures(request: Request): void {
    this.refuse(this.failures?.left(networkOf(request.socket.remoteAddress ?? '')), 0);
  }

  private refuse(left: Left | undefined, from: number): void {
    if (!this.failures || !left || left.remaining > from) return;
    const { limit } = this.failures;
    throw tooMany(
      `An address may fail to authenticate ${limit} times in a minute`,
      left,
      rateLimit('address', limit, left),
    );
  }
}

function tooMany(rule: string, { seconds }: Left, headers: HeaderList = []): ApiError {
  const message = `${rule}; try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
  return new ApiError('rate_limited', message, ['Retry-After', String(seconds), ...headers]);
}

function rateLimit(policy: string, limit: number, { remaining, seconds }: Left): string[] {
  return [
    'RateLimit-Policy',
    `"${policy}";q=${limit};w=${WINDOW}`,
    'RateLimit',
    `"${policy}";r=${Math.max(0, remaining)};t=${seconds}`,
  ];
}
