import { expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const PAGES = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs')
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
];

/** The anchors of a page's headings, as GitHub makes them. */
function anchors(page: string): Set<string> {
  const headings = readFileSync(page, 'utf8')
    .replace(/^```.*?^```/gms, '')
    .match(/^#+ .*$/gm);
  return new Set(
    headings?.map((heading) =>
      heading
        .replace(/^#+ /, '')
        .toLowerCase()
        .replace(/[^\w\- ]/g, '')
        .replace(/ /g, '-'),
    ),
  );
}

it.each(PAGES)('%s leads to what is there, and each page of docs is led to from the README', (page) => {
  const text = readFileSync(page, 'utf8').replace(/^```.*?^```/gms, '');
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  for (const target of targets.filter((each) => !/^[a-z]+:/.test(each))) {
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    expect([target, existsSync(file)]).toEqual([target, true]);
    if (anchor !== undefined) expect([target, anchors(file).has(anchor)]).toEqual([target, true]);
  }
  if (page.startsWith('docs/')) expect(readFileSync('README.md', 'utf8')).toContain(`](${page})`);
});

it('the README is two screens', () => {
  expect(readFileSync('README.md', 'utf8').split('\n').length).toBeLessThanOrEqual(150);
});
