import { styleText } from 'node:util';

const COLOURS = {
  ok: 'green',
  valid: 'green',
  warn: 'yellow',
  expired: 'yellow',
  fail: 'red',
  revoked: 'red',
} as const;

/** Colours the states in a table. */
export function colourState(cell: string, title: string): string {
  const colour = title === 'STATE' && Object.hasOwn(COLOURS, cell) ? COLOURS[cell as keyof typeof COLOURS] : undefined;
  return colour ? styleText(colour, cell, { validateStream: false }) : cell;
}
