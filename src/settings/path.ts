import { UsageError } from '../messages/usage-error.js';

/** `~` or `~user` at the beginning; `$NAME` and `${NAME}`; `%NAME%`, a variable of Windows. */
const EXPANDED_BY_SHELLS = /^~|\$\w|\$\{|%\w+%/;

/**
 * A path as it is given; throws `UsageError`, one line that begins with `name`, if a shell would have expanded it, or
 * if it is `-`, by which other programs mean a stream. The message does not repeat the path, which may be a secret that
 * was set by mistake.
 */
export function filePath(name: string, path: string): string {
  if (path === '-') throw new UsageError(`${name} must be a file, not -, which is no stream here.`);
  if (!EXPANDED_BY_SHELLS.test(path)) return path;
  throw new UsageError(
    `${name} must be a path in full, such as /srv/pets: ~ and variables such as $HOME and %USERPROFILE% are not ` +
      'expanded here. A name that begins with ~ is written ./~name.',
  );
}
