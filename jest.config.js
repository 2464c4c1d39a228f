import { availableParallelism } from 'node:os';

/** `npm test`: needs Node and nothing else. Tests are ES modules; ts-jest strips the types, which `tsc` checks. */
export default {
  rootDir: import.meta.dirname,
  testEnvironment: 'node',
  testMatch: ['<rootDir>/test/**/*.spec.ts'],
  testPathIgnorePatterns: ['\\.(?:integration|system)\\.spec\\.ts$'],
  modulePathIgnorePatterns: ['<rootDir>/(dist|test-output)/'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    '^(\\.{1,2}/.*)\\.js$': '$1',
    // Every test file loads its packages anew: these two as one file each instead of 500.
    '^rxjs(?:/operators)?$': '<rootDir>/node_modules/rxjs/dist/bundles/rxjs.umd.js',
    '^class-validator$': '<rootDir>/node_modules/class-validator/bundles/class-validator.umd.js',
  },
  transform: { '^.+\\.ts$': ['ts-jest', { useESM: true, diagnostics: false }] },
  // Much of the time passes in waiting, for timeouts and for processes to start and stop.
  maxWorkers: Math.ceil(1.5 * availableParallelism()),
  // Ends what hangs; a busy machine takes several times as long as a quiet one.
  testTimeout: 60_000,
};
