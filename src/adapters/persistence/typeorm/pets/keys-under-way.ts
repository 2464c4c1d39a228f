import { IdempotencyInProgress } from '../../../../application/errors.js';
import { IdempotencyKey } from '../../../../application/pets/pet-repository.port.js';
import { within } from '../../../../application/within.js';

/** How long a request waits for an earlier one with the same key, in milliseconds. */
const PATIENCE = 2_000;

/**
 * The idempotency keys with which this process is adding pets: a request that comes with one of them waits here for the earlier one, where
 * it holds no connection and no place in a commit.
 */
export class KeysUnderWay {
  private readonly outcomes = new Map<string, Promise<unknown>>();

  /** Adds once no earlier request with this key is under way; rejects with `IdempotencyInProgress` if one takes longer than 2 seconds. */
  async add<T>({ scope, key }: IdempotencyKey, add: () => Promise<T>): Promise<T> {
    const name = `${scope} ${key}`;
    const earlier = this.outcomes.get(name);
    if (earlier) {
      const ended = earlier.catch(() => undefined);
      await within(PATIENCE, ended, () => new IdempotencyInProgress());
      return add();
    }
    const outcome = add();
    this.outcomes.set(name, outcome);
    try {
      return await outcome;
    } finally {
      this.outcomes.delete(name);
    }
  }
}
