import type { ZxcvbnFactory } from '@zxcvbn-ts/core';

const MIN_LENGTH = 12;
const MAX_LENGTH = 200;
/** On zxcvbn's scale from 0 to 4: 10^8 guesses and more, which would take years at the cost of a sign-in. */
const LEAST_SCORE = 3;
/** Only this many characters are examined: estimating 200 awkward ones blocks the process for a second. */
const ESTIMATED_LENGTH = 64;
/** What would be guessed first for this service. */
const OWN_WORDS = ['chartledger', 'dashboard'];

let estimator: Promise<ZxcvbnFactory> | undefined;

/** Loaded when the first password is chosen: its lists of common passwords take about 30 MB. */
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
 * Returns what is wrong with a chosen password, in one sentence; undefined when it is acceptable. Requires length, and that it is
 * not one that others would guess: common ones, patterns, the user's name. Requires no particular kinds of characters (NIST SP
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
  return 'This password is easy to guess: many people use it, or it follows a pattern. A few unrelated words are better.';
}
