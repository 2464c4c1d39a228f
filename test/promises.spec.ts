import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';

/** The script is JavaScript, so that it needs no build. */
const SCRIPT = './promises.mjs' as string;

let promisesPage: (folder?: string) => string;

beforeAll(async () => {
  ({ promisesPage } = (await import(SCRIPT)) as { promisesPage: typeof promisesPage });
});

it('each promise has its tests, and docs/promises.md has them all', () => {
  if (readFileSync('docs/promises.md', 'utf8') !== promisesPage()) {
    throw new Error(
      'docs/promises.md is not what it is made of: renew it with "npm run docs:promises", and commit it.',
    );
  }
});

describe('the page of the promises', () => {
  const FILES = {
    'docs/client.md': '# Client\n\n## Pets\n\n| what | promise |\n| --- | --- |\n| a list | is short |\n',
    'docs/decisions.md': '# Decisions\n\n## Order\n\n| what | decision |\n| --- | --- |\n| order | newest first |\n',
    'test/promises.yaml':
      'a list: { pets.spec.ts: [pets on $name are few, pets on $name with a key are %i] }\norder: { order.contract.ts: [the order in $name is right] }\n',
    'test/pets.spec.ts': `describe.each(kinds)('pets on $name', (kind) => {
      it('are few', () => { expect(1).toBe(1); });
      (isThere ? describe : describe.skip)('with a key', () => { it.each([[1], [2]])('are %i', check); });
      it.skip('are left out', () => undefined);
    });\n`,
    'test/order.contract.ts':
      "describe(`the order in ${kind.name}`, () => { it('is right', async () => undefined); });\n",
  };
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'petstore-'));
    for (const part of ['docs', 'test']) mkdirSync(join(folder, part));
    for (const [name, text] of Object.entries(FILES)) writeFileSync(join(folder, name), text);
  });

  afterEach(() => rmSync(folder, { recursive: true }));

  it('has each promise of both pages with the names of its tests, of whatever form', () => {
    expect(promisesPage(folder).replace(/^.*?(?=^## )/ms, '')).toBe(
      '## The interface\n\n### Pets\n\n#### a list\n\nis short\n\n' +
        '- `pets on $name are few` ([pets.spec.ts](../test/pets.spec.ts))\n' +
        '- `pets on $name with a key are %i` ([pets.spec.ts](../test/pets.spec.ts))\n\n' +
        '## The decisions\n\n### Order\n\n#### order\n\nnewest first\n\n' +
        '- `the order in $name is right` ([order.contract.ts](../test/order.contract.ts))\n',
    );
  });

  it.each([
    [
      'a promise is new',
      'docs/decisions.md',
      /$/,
      '| ids | increase |\n',
      ['docs/decisions.md promises "ids", which no'],
    ],
    [
      'a promise has no test left',
      'test/promises.yaml',
      /\{ order.*/,
      '{}',
      ['docs/decisions.md promises "order", wh'],
    ],
    [
      'a promise is called otherwise',
      'docs/client.md',
      'a list',
      'lists',
      [
        'docs/client.md promises "lists", which no test',
        'test/promises.yaml has "a list", which no page promises; the nearest is "lists".',
      ],
    ],
    [
      'a promise is made twice',
      'docs/decisions.md',
      /$/,
      '| a list | is long |\n',
      ['docs/decisions.md and docs/client.md promise "a list"'],
    ],
    [
      'a test is called otherwise',
      'test/pets.spec.ts',
      'are few',
      'are fewer',
      [
        'test/pets.spec.ts has no test "pets on $name are few", which is to show "a list"; the nearest is "pets on $name are fewer".',
      ],
    ],
    [
      'a test is left out',
      'test/pets.spec.ts',
      'it(',
      'it.skip(',
      ['test/pets.spec.ts has no test "pets on $name are few"'],
    ],
    [
      'a suite is left out',
      'test/order.contract.ts',
      'describe',
      'describe.skip',
      ['test/order.contract.ts has no test "the order in $name is right", which is to show "order".'],
    ],
    [
      'a file is gone',
      'test/promises.yaml',
      'order.contract',
      'gone.spec',
      ['test/gone.spec.ts has no test "the order in'],
    ],
    [
      'a row has a third cell',
      'docs/client.md',
      'is short',
      'is | short',
      ['docs/client.md: a promise is a row of two cells'],
    ],
  ])('is refused if %s', (_fault, file, part, other, complaints) => {
    const path = join(folder, file);
    const text = readFileSync(path, 'utf8');
    expect(text.replace(part, other)).not.toBe(text);
    writeFileSync(path, text.replace(part, other));
    let found: string[] = [];
    try {
      promisesPage(folder);
    } catch (error) {
      found = (error as Error).message.split('\n');
    }
    expect(found).toEqual(complaints.map((each) => expect.stringContaining(each)));
  });
});
