import { readdirSync, readFileSync } from 'node:fs';
import all from './jest.config.js';

/** What is not for such a server: dumps of PostgreSQL's and MariaDB's own, ten kinds of trouble under load, and the test of this suite. */
const LEFT_OUT = ['old-data.spec.ts', 'faults/faults.spec.ts', 'own-server.spec.ts'];

/** Whatever runs "on each store", on the server that PETSTORE_TEST_URL names alone; `npm run test:store` picks the cases by its name. */
export default {
  ...all,
  globalSetup: '<rootDir>/test/support/own-server.ts',
  testMatch: readdirSync('test', { recursive: true })
    .filter((file) => file.endsWith('.spec.ts') && !LEFT_OUT.includes(file))
    .filter((file) => /\b(?:storeKinds|lastingKinds|describeOnServers)\b/.test(readFileSync(`test/${file}`, 'utf8')))
    .map((file) => `<rootDir>/test/${file}`),
  // The server may be far away, and have few connections to give.
  maxWorkers: 2,
  testTimeout: 120_000,
  // What a test that failed has left open would keep the run from its end.
  forceExit: true,
};
