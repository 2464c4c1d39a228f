import integration from './jest.integration.config.js';

/** `npm run test:system`: clusters, proxies, rolling restarts, generated traffic, faults. Only `*.system.spec.ts`, one file at a time. */
export default {
  ...integration,
  globals: { tier: 'system' },
  testMatch: ['<rootDir>/test/**/*.system.spec.ts'],
  maxWorkers: 1,
  testTimeout: 600_000,
};
