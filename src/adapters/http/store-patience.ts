import { Injectable } from '@nestjs/common';
import { StoreUnavailable } from '../../application/errors.js';
import { within } from '../../application/within.js';
import { HttpSettings } from './http-settings.js';
import { Request } from './server/request.js';

/** Sees to it that a request waits for the store only so long in all: for the check of its key, and for what it asks. */
@Injectable()
export class StorePatience {
  constructor(private readonly settings: HttpSettings) {}

  /**
   * What the store answers to one question; rejects with `StoreUnavailable` once the request has waited for as long as it may. A store sees to
   * that by itself if the request has not waited before.
   */
  ask<T>(request: Request, answer: Promise<T>): Promise<T> {
    return request.waited === 0 ? answer : this.wait(request, answer);
  }

  /** The same for questions that are asked one after the other. */
  async wait<T>(request: Request, answer: Promise<T>): Promise<T> {
    const begun = performance.now();
    const left = this.settings.storeTimeout - request.waited;
    try {
      return await within(left, answer, () => new StoreUnavailable('The store did not answer in time.'));
    } finally {
      request.waited += performance.now() - begun;
    }
  }
}
