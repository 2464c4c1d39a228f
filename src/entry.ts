#!/usr/bin/env node
import packageJson from '../package.json' with { type: 'json' };

// An older Node cannot even link `main.ts`, and would end with a SyntaxError about some import.
const [oldest = ''] = /[\d.]+/.exec(packageJson.engines.node) ?? [];
if (process.versions.node.localeCompare(oldest, 'en', { numeric: true }) < 0) {
  process.stderr.write(`petstore needs Node ${oldest} or later; this is ${process.versions.node}.\n`);
  process.exit(1);
}
await import('./main.js');
