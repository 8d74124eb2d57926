const { availableParallelism } = require('node:os');
const swc = require('./test/support/swc.cjs');

/**
 * What breaks servers under load, kills and freezes processes, or judges when one ends. Beside what computes, such tests
 * would judge the load: they run after all others, and wait for most of their time.
 */
const BREAKING = ['test/faults/(?!kit/|many-jobs|faulty-store|stopping)', 'test/cli/(bin|health|supervisor)'];

/** @type {import('jest').Config} */
const shared = {
  testEnvironment: '<rootDir>/test/support/leak-environment.ts',
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
  setupFiles: ['reflect-metadata'],
  moduleNameMapper: {
    '^onqueue$': '<rootDir>/src/index.ts',
    '^onqueue/(dashboard|entities|laravel|testing)$': '<rootDir>/src/$1/index.ts',
    '^onqueue/testing/conformance$': '<rootDir>/src/testing/conformance.ts',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/build/', '<rootDir>/bench/', '<rootDir>/test/frameworks/'],
};

const breaking = `/(?:${BREAKING.join('|')})`;

/** @type {import('jest').Config} */
module.exports = {
  projects: [
    {
      ...shared,
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/types/', '<rootDir>/test/frameworks/', breaking],
    },
    {
      ...shared,
      displayName: 'breaking',
      testRegex: [`${breaking}.*\\.test\\.ts$`],
    },
  ],
  testSequencer: '<rootDir>/test/support/breaking-last.cjs',
  // Tests wait for servers, processes and deadlines for most of their time: one for each core would leave cores idle.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  // A slow machine is no failure; a hang still is one, and says which test it was.
  testTimeout: 300_000,
  collectCoverageFrom: ['src/**/*.ts'],
};
