import fc from 'fast-check';

/** Properties are checked with the same values in every run, unless TEST_SEED asks for others. */
fc.configureGlobal({ seed: Number(process.env.TEST_SEED ?? 1) });
