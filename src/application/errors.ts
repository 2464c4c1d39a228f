import { UsageError } from '../messages/usage-error.js';

/** The client's error, not the service's. No stack trace: with it a 4xx takes 1.3 to 1.6 times the CPU. */
export abstract class ClientError extends Error {
  constructor(message?: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** No pet has the requested id. */
export class PetNotFound extends ClientError {}

/** The cursor is damaged, or was issued for another filter. */
export class CursorRejected extends ClientError {}

/** The idempotency key was used before, with another payload. */
export class IdempotencyKeyReused extends ClientError {}

/** The first request with the idempotency key is still in flight. */
export class IdempotencyInProgress extends ClientError {}

/** The request has no API key, or an invalid one. */
export class KeyRejected extends ClientError {
  /** `hint` replaces the message of the reason. */
  constructor(
    readonly reason: 'missing' | 'invalid' | 'expired' | 'revoked',
    readonly hint?: string,
  ) {
    super(`The API key is ${reason}.`);
  }
}

/** The database cannot answer now; the same request may succeed later. A write may have been committed. */
export class DatabaseUnavailable extends Error {}

export const databaseTimedOut = () => new DatabaseUnavailable('The database did not answer in time.');

/** A valid key has the name that another one was to have. The message is a sentence without its end. */
export class NameTaken extends UsageError {
  constructor(name: string) {
    super(`A valid key named "${name}" already exists`);
  }
}

/** No key, or more than one valid key, has the name or prefix. */
export class KeyNotIdentified extends UsageError {}
