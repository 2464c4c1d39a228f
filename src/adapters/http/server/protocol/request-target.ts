/** What `http:` and an authority are before a path; the authority is of no account here (RFC 9112, section 3.2.2). */
const ABSOLUTE = /^https?:\/\/[^/?#]+/i;

/**
 * The target of a request as routes are matched against: in origin-form, escapes of characters that need none undone (RFC 3986,
 * section 6.2.2.2). Undefined if it is no target of this method.
 */
export function originForm(method: string, target: string): string | undefined {
  if (target.startsWith('/') && !/[%#]/.test(target)) return target;
  // What the server as a whole takes (RFC 9110, section 9.3.7) is what the collection takes.
  if (target === '*' && method === 'OPTIONS') return '/v1/pets';
  const local = target.startsWith('/') ? target : target.replace(ABSOLUTE, '');
  if ((local === target && !target.startsWith('/')) || local.includes('#')) return undefined;
  const end = local.indexOf('?');
  const path = end < 0 ? local : local.slice(0, end);
  const query = end < 0 ? '' : local.slice(end);
  return (path === '' ? '/' : path.includes('%') ? normalPath(path) : path) + query;
}

function normalPath(path: string): string {
  const normal = path.replace(/%[0-9A-F]{2}/gi, (escape) => {
    const character = String.fromCharCode(parseInt(escape.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escape;
  });
  try {
    decodeURIComponent(normal);
    return normal;
  } catch {
    // What is no escape, or not of UTF-8, is taken for the signs that it is made of: it meets the guard, and then a 404.
    return path.replaceAll('%', '%25');
  }
}
