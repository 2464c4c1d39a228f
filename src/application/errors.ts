/**
 * A request that is refused for what the client did, and no fault of the service. It has no stack: to find out where it was thrown took a tenth
 * of such an answer.
 */
export abstract class Refusal extends Error {
  constructor(message?: string) {
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super(message);
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** No pet has the id that was asked for. */
export class PetNotFound extends Refusal {
  override readonly name = 'PetNotFound';
}

/** A cursor was not made by this service for the filter it came with. */
export class CursorRefused extends Refusal {
  override readonly name = 'CursorRefused';
}

/** The idempotency key came before, with another payload. */
export class IdempotencyKeyReused extends Refusal {
  override readonly name = 'IdempotencyKeyReused';
}

/** The first request with the idempotency key is still being worked on; its outcome can be had later. */
export class IdempotencyInProgress extends Refusal {
  override readonly name = 'IdempotencyInProgress';
}

/** Why an API key was not accepted. */
export type KeyRefusal = 'missing' | 'invalid' | 'expired' | 'revoked';

/** The request has no API key, or one that is not accepted. */
export class KeyRefused extends Refusal {
  override readonly name = 'KeyRefused';

  constructor(readonly reason: KeyRefusal) {
    super(`The API key is ${reason}.`);
  }
}

/** The store cannot answer now; the same request may succeed later. Nothing was stored by it, as far as can be known. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable';
}

/** A person asked for something that cannot be done; the message says what would be right. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

/** What is not seen, or turns the letters around it, besides what JSON escapes. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu;

/** A value for the message of a `UsageError`: in one line, cut after 100 characters. */
export function quoted(value: string): string {
  const text = JSON.stringify(value.length > 100 ? `${value.slice(0, 100)}…` : value);
  return text.replace(UNSEEN, (unseen) => `\\u{${unseen.codePointAt(0)?.toString(16)}}`);
}
