// Makes docs/promises.md: each promise of docs/client.md and docs/decisions.md with the tests that show it, which test/promises.yaml
// names. "npm run docs:promises" writes the page, and test/promises.spec.ts holds it to what it is made of.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { distance } from 'fastest-levenshtein';
import { load } from 'js-yaml';
import ts from 'typescript';

const PAGE = 'docs/promises.md';
const TITLES = { 'docs/client.md': 'The interface', 'docs/decisions.md': 'The decisions' };
const HEAD = `# What is promised, and the tests that show it

Is that so? Each sentence of [the interface](client.md#what-the-interface-promises), and each [decision](decisions.md) if it is silent, with the tests
that show it. A test is named as Jest names it, with \`%s\` and \`$name\` where a table of cases fills them in; \`npm test -- FILE -t 'NAME'\` runs one.
The suites of a file in \`.contract.ts\` are run on every store by the files that call them; a file in \`.check.ts\` is run by a script of \`package.json\`.

\`npm run docs:promises\` makes this page: the sentences are of those two pages, and \`test/promises.yaml\` has the names of the tests.`;

/** The text of docs/promises.md; throws a list of all that is wrong with what it is made of. */
export function promisesPage(folder = '.') {
  const read = (path) => readFileSync(join(folder, path), 'utf8');
  const promises = Object.keys(TITLES).flatMap((page) => promisesOf(page, read(page)));
  const shown = load(read('test/promises.yaml'));
  const files = readdirSync(join(folder, 'test'), { recursive: true, encoding: 'utf8' });
  const suites = files.filter((file) => /\.(spec|contract|check)\.ts$/.test(file));
  const tests = new Map(suites.map((file) => [file, testsOf(file, read(join('test', file)))]));
  const faults = [...faultsOfPromises(promises, shown), ...faultsOfTests(shown, promises, tests)];
  if (faults.length > 0) throw new Error(faults.join('\n'));
  return textOf(promises, shown);
}

/** The promises of a page: the rows of each table that begins with "what". */
function promisesOf(page, text) {
  const promises = [];
  let group, isTable;
  for (const line of text.split('\n')) {
    if (/^#+ /.test(line)) group = line.replace(/^#+ /, '');
    const [what, says, ...more] = line.startsWith('|') ? line.split('|').slice(1, -1) : [];
    isTable = what !== undefined && (isTable || what.trim() === 'what');
    if (!isTable || /^(what|-+)$/.test(what.trim())) continue;
    if (!says?.trim() || more.length > 0) throw new Error(`${page}: a promise is a row of two cells, unlike ${line}`);
    promises.push({ page, group, what: what.trim(), says: says.trim() });
  }
  return promises;
}

/** The names of a file's tests, each behind those of its suites. One whose name is no text, as in a helper, is left out. */
function testsOf(file, text) {
  const names = new Set();
  const visit = (node, suites) => {
    const visitParts = (within) => ts.forEachChild(node, (part) => visit(part, within));
    if (!ts.isCallExpression(node) || node.arguments.length < 2) return visitParts(suites);
    const callee = node.expression.getText();
    const name = nameOf(node.arguments[0]);
    if (/^(it|describe)\.(skip|todo)\b/.test(callee)) return;
    if (name === undefined) visitParts(suites);
    else if (/^it([A-Z]|\b)/.test(callee)) names.add([...suites, name].join(' '));
    else visitParts([...suites, name]);
  };
  visit(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true), []);
  return names;
}

/** A name as it stands in the source, \${kind.name} as $name; undefined if it is no text. */
function nameOf(node) {
  if (ts.isStringLiteralLike(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return undefined;
  const text = node.getText().slice(1, -1);
  return text.replace(/\$\{(?:\w+\.)*(\w+)\}/g, '$$$1');
}

function faultsOfPromises(promises, shown) {
  return promises.flatMap(({ page, what }, index) => {
    const first = promises.findIndex((each) => each.what === what);
    if (first < index) return [`${page} and ${promises[first].page} promise "${what}"; give each a name of its own.`];
    if (Object.values(shown[what] ?? {}).some((names) => names.length > 0)) return [];
    return [`${page} promises "${what}", which no test shows; name one in test/promises.yaml, or write it.`];
  });
}

function faultsOfTests(shown, promises, tests) {
  return Object.entries(shown).flatMap(([what, byFile]) => {
    const promised = promises.map((each) => each.what);
    if (!promised.includes(what))
      return [`test/promises.yaml has "${what}", which no page promises${nearest(what, promised)}.`];
    return Object.entries(byFile).flatMap(([file, names]) => {
      const known = [...(tests.get(file) ?? [])];
      const gone = names.filter((name) => !known.includes(name));
      return gone.map(
        (name) => `test/${file} has no test "${name}", which is to show "${what}"${nearest(name, known)}.`,
      );
    });
  });
}

function nearest(given, names) {
  const [near] = [...names].sort((a, b) => distance(a, given) - distance(b, given));
  return near === undefined ? '' : `; the nearest is "${near}"`;
}

function textOf(promises, shown) {
  const parts = promises.flatMap(({ page, group, what, says }, index) => {
    const before = promises[index - 1];
    const tests = Object.entries(shown[what]).flatMap(([file, names]) =>
      names.map((name) => `- \`${name}\` ([${file}](../test/${file}))`),
    );
    return [
      ...(page === before?.page ? [] : [`## ${TITLES[page]}`]),
      ...(group === before?.group ? [] : [`### ${group}`]),
      `#### ${what}`,
      says,
      tests.join('\n'),
    ];
  });
  return `${[HEAD, ...parts].join('\n\n')}\n`;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  try {
    writeFileSync(PAGE, promisesPage());
  } catch (error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
