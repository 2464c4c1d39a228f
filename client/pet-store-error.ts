import type { components } from './wire.js';

/**
 * A code of the service, or one of the client:
 * - `network`: the connection could not be opened, or was lost;
 * - `timeout`: no complete response came within `timeout` or `deadline`;
 * - `unexpected_response`: the response is not from the service but, for example, from a proxy; see `status`.
 */
export type PetStoreErrorCode = components['schemas']['Error']['code'] | 'network' | 'timeout' | 'unexpected_response';

/** What is known of a failed call, besides the message. */
export interface PetStoreErrorFields {
  readonly code: PetStoreError['code'];
  readonly tries: number;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
  readonly cause?: unknown;
}

/** Why a call failed. A call that is aborted rejects with the reason of its `signal` instead, as `fetch` does. */
export class PetStoreError extends Error {
  static {
    // On the prototype, so that stacks begin with it, even where a minifier has renamed the class.
    PetStoreError.prototype.name = 'PetStoreError';
  }

  /** The reason, for programs. A later release of the service may have other codes. */
  readonly code: PetStoreErrorCode | (string & Record<never, never>);
  /** The HTTP status of the last response; undefined if none came. */
  readonly status: number | undefined;
  /** The `X-Request-Id` of the last response, by which the operator of the service finds it in the log. */
  readonly requestId: string | undefined;
  /** How often the request was sent. */
  readonly tries: number;

  constructor(message: string, { code, tries, status, requestId, cause }: PetStoreErrorFields) {
    super(message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.status = status;
    this.requestId = requestId;
    this.tries = tries;
  }

  /** Whether something thrown is a `PetStoreError` with this code. */
  static is<Code extends PetStoreErrorCode>(error: unknown, code: Code): error is PetStoreError & { code: Code } {
    return error instanceof PetStoreError && error.code === code;
  }
}
