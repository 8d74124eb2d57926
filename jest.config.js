const swc = require('./test/support/swc.cjs');

/**
 * What breaks servers under load, kills and freezes processes, or judges when one ends. Under load of their own making
 * such tests would judge the load: they run one at a time, after all others.
 */
const ALONE = [
  'test/faults/(?!kit/|many-jobs)',
  'test/tooling/leak-environment',
  'test/cli/(bin|health|stores|supervisor)',
];

/** @type {import('jest').Config} */
const shared = {
  testEnvironment: '<rootDir>/test/support/leak-environment.ts',
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
  setupFiles: ['reflect-metadata'],
  moduleNameMapper: {
    '^onqueue$': '<rootDir>/src/index.ts',
    '^onqueue/testing$': '<rootDir>/src/testing/index.ts',
    '^onqueue/testing/conformance$': '<rootDir>/src/testing/conformance.ts',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/build/', '<rootDir>/bench/', '<rootDir>/test/frameworks/'],
};

const alone = `/(?:${ALONE.join('|')})`;

/** @type {import('jest').Config} */
module.exports = {
  projects: [
    {
      ...shared,
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/types/', '<rootDir>/test/frameworks/', alone],
    },
    {
      ...shared,
      displayName: 'alone',
      testRegex: [`${alone}.*\\.test\\.ts$`],
      runner: '<rootDir>/test/support/one-at-a-time.ts',
    },
  ],
  testSequencer: '<rootDir>/test/support/alone-last.cjs',
  // Jest leaves one core idle by default: on two cores, everything would run one after the other.
  maxWorkers: '100%',
  // A slow machine is no failure; a hang still is one, and says which test it was.
  testTimeout: 300_000,
  collectCoverageFrom: ['src/**/*.ts'],
};
