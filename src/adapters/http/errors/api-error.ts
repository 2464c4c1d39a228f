import type { HeaderList } from '../header-list.js';
import { ErrorCode } from './error-code.js';

/** An answer of 400 or above, thrown to where it is sent. */
export class ApiError extends Error {
  override readonly name = 'ApiError';

  /** `message` is for people; `headers` are names and values in turn. */
  constructor(
    readonly code: ErrorCode,
    message: string,
    readonly headers: HeaderList = [],
  ) {
    super(message);
  }
}

/** Collects what is wrong with one part of a request, so that one answer names it all. */
export class Faults {
  private readonly found: { code: ErrorCode; message: string; position: number }[] = [];

  /** Notes a fault at a position in the request. */
  add(code: ErrorCode, message: string, position: number): void {
    this.found.push({ code, message, position });
  }

  /** Throws an `ApiError` with every message and the code of the first fault, in the order of the request; nothing where there is none. */
  throwIfAny(): void {
    const faults = this.found.sort((a, b) => a.position - b.position);
    if (faults[0]) throw new ApiError(faults[0].code, faults.map(({ message }) => message).join(' '));
  }
}
