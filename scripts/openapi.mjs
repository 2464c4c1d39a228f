// `npm run openapi`: writes openapi.yaml, whose servers do not depend on the settings of whoever runs it, and the types
// of the client.
import './build.mjs';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { env, execPath } from 'node:process';

const document = execFileSync(execPath, ['dist/src/main.js', 'openapi'], {
  env: { ...env, PRODUCTION_BASE_URL: '', STAGING_BASE_URL: '' },
});
writeFileSync('openapi.yaml', document);
execFileSync(execPath, ['node_modules/openapi-typescript/bin/cli.js', 'openapi.yaml', '--output', 'client/wire.ts']);
