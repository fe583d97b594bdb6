const common = {
  extensionsToTreatAsEsm: ['.ts'],
  moduleFileExtensions: ['ts', 'js', 'mjs', 'json'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' } },
    ],
  },
  testTimeout: 30_000,
};

/** The suite; `test/afterwards` then looks at what the whole of it wrote to the service's log. */
export default process.env.TEST_PHASE === 'afterwards'
  ? {
      ...common,
      testMatch: ['<rootDir>/test/afterwards/*.test.ts'],
      reporters: ['default', './test/support/closingLine.mjs'],
    }
  : {
      ...common,
      testMatch: ['<rootDir>/test/**/*.test.ts'],
      testPathIgnorePatterns: ['/node_modules/', '/test/afterwards/'],
      globalSetup: './test/support/globalSetup.mjs',
      reporters: ['default', './test/support/closingLine.mjs'],
      maxWorkers: 2,
    };
