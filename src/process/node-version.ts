/**
 * Whether a version of Node is in ranges such as `^20.19.0 || >=24.11.0`, the forms that `engines` of package.json has:
 * of one major version, or any later one.
 */
export function isInRanges(version: string, ranges: string): boolean {
  return ranges.split('||').some((range) => {
    const [, sign, oldest = ''] = /^(\^|>=)(.*)$/.exec(range.trim()) ?? [];
    const isLater = version.localeCompare(oldest, 'en', { numeric: true }) >= 0;
    return isLater && (sign === '>=' || parseInt(version, 10) === parseInt(oldest, 10));
  });
}
