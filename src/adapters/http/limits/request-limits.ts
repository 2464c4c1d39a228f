import { setTimeout as delay } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { KeyRefused, StoreUnavailable } from '../../../application/errors.js';
import { ApiKey } from '../../../domain/keys/api-key.js';
import { Counts, Taken, WINDOW } from '../../counting/counts.js';
import { ApiError } from '../errors/api-error.js';
import type { HeaderList } from '../header-list.js';
import { HttpSettings } from '../http-settings.js';
import type { Request } from '../server/request.js';
import type { Response } from '../server/response.js';
import { networkOf } from './network-of.js';

/** How long to wait before it is asked again whether a guess may be looked at, in milliseconds. */
const PAUSE = 5;

/** The guesses of an address that wait until it is known whether they may be looked at. */
interface Queue {
  length: number;
  /** Settles once it is known of the last one. */
  last: Promise<unknown>;
  /** What all of them are told, if the address has failed too often. */
  refusal?: ApiError;
}

/**
 * How many requests a key may make in a minute, and how often a client's address may fail to authenticate; without the setting, any
 * number. The `RateLimit` headers are those of draft-ietf-httpapi-ratelimit-headers-10.
 */
@Injectable()
export class RequestLimits {
  /** By address. */
  private readonly queues = new Map<string, Queue>();

  constructor(
    private readonly settings: HttpSettings,
    private readonly counts: Counts,
  ) {}

  /** Whether failures to authenticate are counted. */
  get countsFailures(): boolean {
    return this.settings.authFailureLimit !== undefined;
  }

  /**
   * Counts a request that was made with a key, and has its answer tell what is left; throws `rate_limited` if it was too many. A promise
   * only if others are asked for the count.
   */
  countRequest(key: ApiKey, response: Response): void | Promise<void> {
    const { rateLimit: limit } = this.settings;
    if (limit === undefined) return;
    const counted = this.counts.take('requests', key.digest);
    if (counted instanceof Promise) return counted.then((taken) => tellRequests(limit, taken, response));
    tellRequests(limit, counted, response);
  }

  /**
   * Looks at a key for a request whose address may fail only so often; throws `rate_limited`, and does not look, if it has. As many guesses
   * of an address are looked at a time as may still fail: one more waits, so that many at once are no more than many in turn. A key that is
   * `known`, because it was accepted before, is looked at all the same: who is at work behind the same address goes on.
   */
  async guess<T>(request: Request, known: boolean, look: () => T | Promise<T>): Promise<T> {
    const address = networkOf(request.socket.remoteAddress ?? '');
    const taken = known ? undefined : await this.queued(address);
    let found: T;
    try {
      found = await look();
    } catch (error) {
      if (!(error instanceof KeyRefused)) taken?.giveBack();
      else if (taken) taken.fail();
      else await this.countFailure(address);
      throw error;
    }
    taken?.giveBack();
    return found;
  }

  /** Counts the failure of a key that was accepted before; throws `rate_limited` if it was too many. */
  private async countFailure(address: string): Promise<void> {
    const taken = await this.counts.take('guesses', address);
    taken.fail();
    if (taken.used > this.failureLimit) throw tooManyFailures(this.failureLimit, taken);
  }

  /** Counts a guess that may be looked at once those before it are; one that may not is refused with all that wait behind it. */
  private async queued(address: string): Promise<Taken> {
    const queue: Queue = this.queues.get(address) ?? { length: 0, last: Promise.resolve() };
    this.queues.set(address, queue);
    queue.length++;
    const turn = queue.last.then(() => this.takeGuess(address, queue));
    queue.last = turn.catch(() => undefined);
    try {
      return await turn;
    } finally {
      if (--queue.length === 0) this.queues.delete(address);
    }
  }

  private async takeGuess(address: string, queue: Queue): Promise<Taken> {
    const limit = this.failureLimit;
    const end = performance.now() + this.settings.storeTimeout;
    for (;;) {
      if (queue.refusal) throw queue.refusal;
      const taken = await this.counts.take('guesses', address);
      if (taken.used <= limit) return taken;
      taken.giveBack();
      if (taken.failed >= limit) queue.refusal = tooManyFailures(limit, taken);
      // Others of the address are being looked at, and may turn out to be good.
      else if (performance.now() < end) await delay(PAUSE);
      else throw new StoreUnavailable('The keys before this one were not looked at in time.');
    }
  }

  private get failureLimit(): number {
    return this.settings.authFailureLimit ?? Infinity;
  }
}

function tellRequests(limit: number, taken: Taken, response: Response): void {
  response.standing.push(...rateLimit('key', limit, taken));
  if (taken.used > limit) throw tooMany(`This API key may make ${limit} requests in a minute`, taken);
}

function tooManyFailures(limit: number, taken: Taken): ApiError {
  const rule = `An address may fail to authenticate ${limit} times in a minute`;
  return tooMany(rule, taken, rateLimit('address', limit, taken));
}

function tooMany(rule: string, { seconds }: Taken, headers: HeaderList = []): ApiError {
  const message = `${rule}; try again in ${seconds} ${seconds === 1 ? 'second' : 'seconds'}.`;
  return new ApiError('rate_limited', message, ['Retry-After', String(seconds), ...headers]);
}

function rateLimit(policy: string, limit: number, { used, seconds }: Taken): string[] {
  return [
    'RateLimit-Policy',
    `"${policy}";q=${limit};w=${WINDOW}`,
    'RateLimit',
    `"${policy}";r=${Math.max(0, limit - used)};t=${seconds}`,
  ];
}
