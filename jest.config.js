const { availableParallelism } = require('node:os');
const swc = require('./test/support/swc.cjs');

/**
 * What breaks servers under load, kills and freezes processes, or judges when one ends. Beside what computes, such tests
 * would judge the load, and they wait for most of their time.
 */
const BREAKING = [
  'faults/(?!kit/|many-jobs|faulty-store|stopping)',
  'cli/(bin|health|supervisor)',
  'connections/sql/(mysql|postgres)/(outages|migrations)',
  'worker/lease/(thread|one-thread)',
];

/** What a user has: pages in a browser, the package in a project, the samples in processes on each store. */
const WHOLE = ['dashboard/browser/', 'package/', 'samples/'];

// Each file that talks to SQS would print a paragraph about the end of Node.js 20.
process.env.AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED = 'true';

/** @type {import('jest').Config} */
const shared = {
  testEnvironment: '<rootDir>/test/support/leak-environment.ts',
  transform: { '^.+\\.ts$': ['@swc/jest', swc] },
  setupFiles: ['reflect-metadata'],
  moduleNameMapper: {
    '^onqueue$': '<rootDir>/src/index.ts',
    '^onqueue/(dashboard|entities|laravel|nest|otel|testing)$': '<rootDir>/src/$1/index.ts',
    '^onqueue/testing/conformance$': '<rootDir>/src/testing/conformance.ts',
  },
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/build/', '<rootDir>/bench/', '<rootDir>/test/frameworks/'],
};

const within = (places) => `/test/(?:${places.join('|')})`;
const matching = (places) => [`${within(places)}.*\\.test\\.ts$`];

/** @type {import('jest').Config} */
module.exports = {
  projects: [
    {
      ...shared,
      displayName: 'behaviour',
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: [
        '/node_modules/',
        '<rootDir>/test/types/',
        '<rootDir>/test/frameworks/',
        within([...BREAKING, ...WHOLE]),
      ],
    },
    { ...shared, displayName: 'whole', testRegex: matching(WHOLE) },
    { ...shared, displayName: 'breaking', testRegex: matching(BREAKING) },
  ],
  testSequencer: '<rootDir>/test/support/breaking-last.cjs',
  // Tests wait for servers, processes and deadlines for most of their time: one for each core would leave cores idle.
  maxWorkers: Math.ceil(availableParallelism() * 1.5),
  // A slow machine is no failure; a hang still is one, and says which test it was.
  testTimeout: 300_000,
  collectCoverageFrom: ['src/**/*.ts'],
};
