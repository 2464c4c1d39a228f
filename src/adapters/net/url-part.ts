import { UsageError } from '../../application/errors.js';

/** Decodes a part of a URL; throws `UsageError` with one line that begins with `name` if it is not percent-encoded. */
export function urlPart(name: string, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UsageError(`${name} has a % that is not followed by two hexadecimal digits; encode a % as %25.`);
  }
}
