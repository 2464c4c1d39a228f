import unit from '../jest.config.js';

/** `npm run test:integration`: what needs a database server, Redis, a browser or processes. Only `*.integration.spec.ts`. */
export default {
  ...unit,
  globalSetup: '<rootDir>/test/support/servers.ts',
  globalTeardown: '<rootDir>/test/support/servers.teardown.ts',
  testMatch: ['<rootDir>/test/**/*.integration.spec.ts'],
  testPathIgnorePatterns: [],
  // Most of the time passes in waiting for processes to start and stop.
  maxWorkers: Math.ceil(1.5 * unit.maxWorkers),
  testTimeout: 60_000,
};
