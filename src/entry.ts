#!/usr/bin/env node
import packageJson from '../package.json' with { type: 'json' };
import { isInRanges } from './process/node-version.js';

// An older Node cannot even link `main.ts`, and would end with a SyntaxError about some import.
const { engines } = packageJson;
if (!isInRanges(process.versions.node, engines.node)) {
  process.stderr.write(`petstore needs Node ${engines.node}; this is ${process.versions.node}.\n`);
  process.exit(1);
}
await import('./main.js');
