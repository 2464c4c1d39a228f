import { availableParallelism } from 'node:os';
import unit from '../jest.config.js';

/** `npm run test:integration`: what needs a database server, Redis, a browser or processes. Only `*.integration.spec.ts`. */
export default {
  ...unit,
  globalSetup: '<rootDir>/test/support/servers.ts',
  globalTeardown: '<rootDir>/test/support/servers.teardown.ts',
  testMatch: ['<rootDir>/test/**/*.integration.spec.ts'],
  testPathIgnorePatterns: [],
  // Even more of the time passes in waiting.
  maxWorkers: 2 * availableParallelism(),
  testTimeout: 300_000,
};
