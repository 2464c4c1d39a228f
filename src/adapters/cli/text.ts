/** Such as "1 key" and "2 keys". */
export function plural(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`;
}

/** What the help of a command ends with. */
export const example = (line: string) => `\nExample:\n  ${line}`;

/** A value for people: a time to the second, in UTC, and a dash for null. */
export function format(value: Date | string | number | null): string {
  return value instanceof Date ? value.toISOString().replace('T', ' ').replace(/\..*/, 'Z') : String(value ?? '-');
}

/** Left-aligned columns for people. */
export function table(rows: readonly (readonly Parameters<typeof format>[0][])[]): string {
  const cells = rows.map((row) => row.map(format));
  const widths = cells[0]!.map((_, column) => Math.max(...cells.map((row) => row[column]!.length)));
  const lines = cells.map((row) => row.map((cell, column) => cell.padEnd(widths[column]!)).join('  '));
  return lines.map((line) => line.trimEnd()).join('\n');
}
