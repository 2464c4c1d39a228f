import { Injectable } from '@nestjs/common';
import { KeyRefused } from '../../../application/errors.js';
import { ApiKey } from '../../../domain/keys/api-key.js';
import { ApiError } from '../errors/api-error.js';
import type { HeaderList } from '../header-list.js';
import { HttpSettings } from '../http-settings.js';
import type { Request } from '../server/request.js';
import type { Response } from '../server/response.js';
import { networkOf } from './network-of.js';
import { Left, WINDOW, FixedWindows } from './fixed-window.js';

/**
 * How many requests a key may make in a minute, and how often a client's address may fail to authenticate; without the setting, any
 * number. Each instance counts for itself. The `RateLimit` headers are those of draft-ietf-httpapi-ratelimit-headers-10.
 */
@Injectable()
export class RequestLimits {
  private readonly requests: FixedWindows | undefined;
  private readonly failures: FixedWindows | undefined;

  /** The guesses that are being looked at, by address. */
  private readonly guesses = new Map<string, Set<Promise<unknown>>>();

  constructor({ rateLimit, authFailureLimit }: HttpSettings) {
    if (rateLimit !== undefined) this.requests = new FixedWindows(rateLimit);
    if (authFailureLimit !== undefined) this.failures = new FixedWindows(authFailureLimit);
  }

  /** Whether failures to authenticate are counted. */
  get countsFailures(): boolean {
    return this.failures !== undefined;
  }

  /** Counts a request that was made with a key, and has its answer tell what is left; throws `rate_limited` if it was too many. */
  countRequest(key: ApiKey, response: Response): void {
    if (!this.requests) return;
    const left = this.requests.take(key.digest);
    response.standing.push(...rateLimit('key', this.requests.limit, left));
    if (left.remaining < 0) {
      throw tooMany(`This API key may make ${this.requests.limit} requests in a minute`, left);
    }
  }

  /**
   * Looks at a key for a request whose address may fail only so often; throws `rate_limited`, and does not look, if it has. As many guesses
   * of an address are looked at a time as may still fail: one more waits, so that many at once are no more than many in turn. A key that is
   * `known`, because it was accepted before, is looked at all the same: who is at work behind the same address goes on.
   */
  async guess<T>(request: Request, known: boolean, look: () => T | Promise<T>): Promise<T> {
    const address = networkOf(request.socket.remoteAddress ?? '');
    const guesses = this.guesses.get(address) ?? new Set();
    this.guesses.set(address, guesses);
    if (!known) {
      while (guesses.size > 0 && guesses.size >= (this.failures?.left(address).remaining ?? 0))
        await Promise.race(guesses);
      this.refuse(this.failures?.left(address), 0);
    }
    // A promise even if the look throws at once.
    const looking = Promise.resolve().then(look);
    // Those who wait for it are told if the store cannot answer: it could not answer them either.
    const outcome = looking.catch((error: unknown) => {
      if (!(error instanceof KeyRefused)) throw error;
    });
    outcome.catch(() => undefined);
    guesses.add(outcome);
    try {
      return await looking;
    } catch (error) {
      if (error instanceof KeyRefused) this.refuse(this.failures?.take(address), -1);
      throw error;
    } finally {
      guesses.delete(outcome);
      if (guesses.size === 0) this.guesses.delete(address);
    }
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
