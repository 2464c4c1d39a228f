import { UsageError } from '../../application/errors.js';

/** A part of a URL as it is meant; throws `UsageError`, a line that begins with the setting's `name`, if it is not encoded as it must be. */
export function urlPart(name: string, part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    throw new UsageError(`${name} has a % that is not followed by two hexadecimal digits; write a % itself as %25.`);
  }
}
