/** Formats a line of JSON as text: time, level, message and the other fields. */
export function readable(json: string): string {
  const { time, level, msg, stack, ...rest } = JSON.parse(json) as Record<string, string | undefined>;
  const fields = Object.entries(rest).map(([name, value]) => `${name}=${quotedIfNeeded(value)}`);
  const head = [time?.slice(11, 23), level?.toUpperCase().padEnd(5), msg, ...fields];
  const lines = [head.filter((part) => part !== undefined).join(' '), stack].filter((line) => line !== undefined);
  return `${escaped(lines.join('\n'))}\n`;
}

function quotedIfNeeded(value: unknown): string {
  return typeof value === 'string' && !/^[\x21-\x7e]+$/.test(value) ? JSON.stringify(value) : String(value);
}

/** Escapes control characters except line breaks: they could control the terminal. */
function escaped(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}
