// Each script of npm that needs the packages imports or runs this first: one line instead of the stack of an import.
import { existsSync, readFileSync } from 'node:fs';
import { exit, stderr, versions } from 'node:process';

/** Ends the script with one line. */
export function fail(message) {
  stderr.write(`${message}\n`);
  exit(1);
}

const { dependencies, engines } = JSON.parse(readFileSync('package.json', 'utf8'));
// As `isInRanges` of src, which is not built yet.
const isSupported = engines.node.split('||').some((range) => {
  const [, sign, oldest] = /^(\^|>=)(.*)$/.exec(range.trim());
  const isLater = versions.node.localeCompare(oldest, 'en', { numeric: true }) >= 0;
  return isLater && (sign === '>=' || parseInt(versions.node, 10) === parseInt(oldest, 10));
});
if (!isSupported) fail(`petstore needs Node ${engines.node}; this is ${versions.node}.`);
const missing = Object.keys(dependencies).filter((name) => !existsSync(`node_modules/${name}/package.json`));
if (missing.length > 0) fail(`Packages are not installed (${missing.join(', ')}): run "npm ci" first.`);
