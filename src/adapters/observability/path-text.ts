import { maskKeys } from '../../domain/keys/api-key.js';

/**
 * The path of a request target as log and spans have it: no query, no text that may be an API key, and at most 256
 * visible ASCII characters, others percent-encoded, `"` and `\` too.
 */
export function pathText(target: string): string {
  const path = target.split('?', 1)[0] ?? '';
  return maskKeys(path)
    .replace(/[^!-~]|["\\]/g, encodeURIComponent)
    .slice(0, 256);
}
