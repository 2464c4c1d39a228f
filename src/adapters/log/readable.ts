/** A line of the log for people: the time of day, the level, what was said, and the rest of its fields. */
export function readable(json: string): string {
  const { time, level, msg, stack, ...rest } = JSON.parse(json) as Record<string, string | undefined>;
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${plain(value)}`);
  const head = [
    time?.slice(11, 23),
    level?.toUpperCase().padEnd(5),
    msg === undefined ? undefined : lines(msg),
    ...fields,
  ];
  return `${head.filter((part) => part !== undefined).join(' ')}\n${stack === undefined ? '' : `${lines(stack)}\n`}`;
}

/** A value as it is, or quoted if it has anything but visible ASCII. */
function plain(value: unknown): string {
  return typeof value === 'string' && !/^[\x21-\x7e]+$/.test(value) ? JSON.stringify(value) : String(value);
}

/** A text with its line ends, and every other control character escaped, which might steer the terminal. */
function lines(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
