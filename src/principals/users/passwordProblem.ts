import type { ZxcvbnFactory } from '@zxcvbn-ts/core';

const MIN_LENGTH = 12;
const MAX_LENGTH = 200;
/** On zxcvbn's scale from 0 to 4: 10^8 guesses and more, which cost years at what a sign-in costs. */
const LEAST_SCORE = 3;
/** More is not looked at: the estimate of 200 awkward characters holds the process up for a second. */
const ESTIMATED_LENGTH = 64;
/** What is guessed first at this service. */
const OWN_WORDS = ['chartledger', 'dashboard'];

let estimator: Promise<ZxcvbnFactory> | undefined;

/** Loaded when the first password is chosen: its lists of common passwords take some 30 MB. */
function loadEstimator(): Promise<ZxcvbnFactory> {
  estimator ??= (async () => {
    const [{ ZxcvbnFactory }, { adjacencyGraphs: graphs, dictionary }] = await Promise.all([
      import('@zxcvbn-ts/core'),
      import('@zxcvbn-ts/language-common'),
    ]);
    return new ZxcvbnFactory({ graphs, dictionary });
  })();
  return estimator;
}

/**
 * What is wrong with a password that somebody chose, in one sentence; undefined when it is good. Length counts, and that
 * it is none that others guess: common ones, patterns, the user's name. No kinds of characters are asked for (NIST SP
 * 800-63B, section 5.1.1.2).
 */
export async function passwordProblem(password: string, userName: string): Promise<string | undefined> {
  const { length } = [...password];
  if (length < MIN_LENGTH) return `A password must have at least ${MIN_LENGTH} characters.`;
  if (length > MAX_LENGTH) return `A password can have at most ${MAX_LENGTH} characters.`;
  if (password.trim().toLowerCase() === userName.trim().toLowerCase()) {
    return 'A password must not be the same as the user name.';
  }
  const known = [...OWN_WORDS, userName, ...userName.split(/[^\p{L}\p{N}]+/u)].filter((word) => word !== '');
  const estimated = password.normalize('NFKC').slice(0, ESTIMATED_LENGTH);
  const { score } = (await loadEstimator()).check(estimated, known);
  if (score >= LEAST_SCORE) return undefined;
  return 'This password is easy to guess: it is common or follows a pattern. A few words in a row are better.';
}
