/** Tests and samples compile through swc, which does not check types: `npm run check:types` does. */
const swc = [
  '@swc/jest',
  {
    swcrc: false,
    sourceMaps: 'inline',
    module: { type: 'commonjs' },
    jsc: {
      target: 'es2022',
      keepClassNames: true,
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true, useDefineForClassFields: false },
    },
  },
];

/** @type {import('jest').Config} */
module.exports = {
  testEnvironment: '<rootDir>/test/support/leak-environment.ts',
  transform: { '^.+\\.ts$': swc },
  setupFiles: ['reflect-metadata'],
  moduleNameMapper: {
    '^onqueue$': '<rootDir>/src/index.ts',
    '^onqueue/testing$': '<rootDir>/src/testing/index.ts',
    '^onqueue/testing/conformance$': '<rootDir>/src/testing/conformance.ts',
  },
  // Jest leaves one core idle by default: on two cores, everything would run one after the other.
  maxWorkers: '100%',
  // A slow machine is no failure; a hang still is one, and says which test it was.
  testTimeout: 30_000,
  testMatch: ['<rootDir>/test/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/types/'],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/build/', '<rootDir>/bench/'],
  collectCoverageFrom: ['src/**/*.ts'],
};
