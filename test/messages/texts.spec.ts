import { expect, it } from '@jest/globals';
import { didYouMean, nearName, quoted } from '../../src/messages/texts.js';

it.each([
  ['status', 'status'],
  ['STATUS', 'status'],
  ['statsu', 'status'],
  ['stat', 'status'],
  ['sta', undefined],
  ['ab', 'a'],
  ['abc', 'abcd'],
  ['DCBA', 'abcd'],
  ['DCBB', undefined],
  ['status'.repeat(2), undefined],
  ['xyz', undefined],
  ['', 'a'],
])('the known name near "%s" is %s', (given, near) => {
  const known = ['a', 'Abcd', 'Status'];
  const suggestion = near && known.find((name) => name.toLowerCase() === near);
  expect(nearName(given, known, 1 / 3)).toBe(suggestion);
  expect(didYouMean(given, known)).toBe(suggestion ? ` Did you mean "${suggestion}"?` : '');
});

it.each([
  ['a "b"\\', '"a \\"b\\"\\\\"'],
  ['x'.repeat(100), `"${'x'.repeat(100)}"`],
  ['x'.repeat(101), `"${'x'.repeat(100)}…"`],
  [`pets_${'0'.repeat(36)}`, '"pets_***"'],
  ['\n\u0085\u200b\u202e\u2028\u2029é🐶', '"\\n\\u{85}\\u{200b}\\u{202e}\\u{2028}\\u{2029}é🐶"'],
])('a message quotes %j on one line, cut, without a key: %s', (value, text) => {
  expect(quoted(value)).toBe(text);
});
