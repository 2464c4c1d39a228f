import { Refusal } from '../../../application/errors.js';
import type { HeaderList } from '../header-list.js';
import { ErrorCode, MESSAGES } from './error-code.js';

/** An answer of 400 or above, thrown to where it is sent. */
export class ApiError extends Refusal {
  override readonly name = 'ApiError';

  /** `message` is for people; `headers` are names and values in turn. */
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly headers: HeaderList = [],
  ) {
    super(message);
  }

  /** The error of a code that always has the same message. */
  static of(code: keyof typeof MESSAGES, headers?: HeaderList): ApiError {
    return new ApiError(code, MESSAGES[code], headers);
  }
}

/** The most faults that a message names: it stays shorter than the request. */
const MAX_NAMED = 10;

/** Collects what is wrong with one part of a request, so that one answer names it all. */
export class Faults {
  private readonly found: { code: ErrorCode; message: string; position: number }[] = [];

  /** Notes a fault at a position in the request. */
  add(code: ErrorCode, message: string, position: number): void {
    this.found.push({ code, message, position });
  }

  /** Throws an `ApiError` that names the first ten faults and has the code of the very first, in the order of the request; does nothing if there is none. */
  throwIfAny(): void {
    const faults = this.found.sort((a, b) => a.position - b.position);
    const [first] = faults;
    if (!first) return;
    const messages = faults.slice(0, MAX_NAMED).map(({ message }) => message);
    if (faults.length > MAX_NAMED) messages.push(`… and ${faults.length - MAX_NAMED} more.`);
    throw new ApiError(first.code, messages.join(' '));
  }
}
