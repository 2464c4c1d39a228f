import { availableParallelism } from 'node:os';

/** Tests are ES modules; ts-jest strips the types, which `npm run check` checks. */
export default {
  testEnvironment: 'node',
  globalSetup: '<rootDir>/test/support/servers.ts',
  globalTeardown: '<rootDir>/test/support/servers.teardown.ts',
  testMatch: ['<rootDir>/test/**/*.spec.ts'],
  modulePathIgnorePatterns: ['<rootDir>/(dist|test-output)/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: { '^(\\.{1,2}/.*)\\.js$': '$1' },
  transform: { '^.+\\.ts$': ['ts-jest', { useESM: true, diagnostics: false }] },
  // Jest would leave one processor idle; and tests wait for half of their time, for processes that start and stop.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  testTimeout: 20_000,
};
