import { expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const markdown = (folder: string, end = '.md') =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => join(folder, name));

const PAGES = [...readdirSync('.').filter((name) => name.endsWith('.md')), 'client/README.md', ...markdown('docs')];

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

it.each(PAGES)('the links of %s lead to pages and headings that exist', (page) => {
  const text = readFileSync(page, 'utf8').replace(/^```.*?^```/gms, '');
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = '']) => target);
  for (const target of targets.filter((each) => !/^[a-z]+:/.test(each))) {
    const [path = '', anchor] = target.split('#');
    const file = path === '' ? page : join(dirname(page), path);
    expect([target, existsSync(file)]).toEqual([target, true]);
    if (anchor !== undefined) expect([target, anchors(file).has(anchor)]).toEqual([target, true]);
  }
});

it('the README links to every page for users', () => {
  const readme = readFileSync('README.md', 'utf8');
  const pages = PAGES.filter((page) => /^docs\/[^/]+$/.test(page));
  expect(pages.filter((page) => !readme.includes(`](${page})`))).toEqual([]);
});

it('no command that is shown makes npx install a package of the name of this one', () => {
  const pages = PAGES.filter((page) => page !== 'CHANGELOG.md');
  const shown = [...pages, 'requests.http', ...markdown('src', '.ts')].map((page) => readFileSync(page, 'utf8')).join();
  expect(shown.match(/npx (?!--no )(?:petstore|typeorm|husky|\$).*/g)).toBeNull();
});

it('no command that is shown installs a package of a registry that has the name of the client', () => {
  const shown = PAGES.map((page) => readFileSync(page, 'utf8')).join();
  expect(shown).toContain('npm install ../petstore/petstore-client-*.tgz');
  expect(
    shown.match(/\b(?:add|i|install) (?:\S+ )*petstore-client\b.*|(?:npm:|jsr:|\/\/\S+\/)petstore-client.*/g),
  ).toBeNull();
});
