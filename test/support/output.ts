import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';

/** Folder in which the suite keeps what its last phase reads. */
export const outputFolder = process.env.TEST_OUTPUT ?? 'test/.output';

/** Characters of the shortest value that is noted: shorter ones would be found by chance. */
export const SHORTEST = 6;

/**
 * Notes values that no log may ever hold (names, ids, SSNs …); the suite's last phase looks for them in everything
 * that the tested services logged. Values that are too short are passed over.
 */
export function notePhi(...values: string[]): void {
  const lines = values
    .filter((value) => value.length >= SHORTEST)
    .map((value) => `${JSON.stringify(value)}\n`);
  appendFileSync(`${outputFolder}/phi/${process.pid}.jsonl`, lines.join(''));
}

/** A fresh value that is noted as PHI: `Lopez` becomes `Lopez-5f3a9c02`. */
export function phi(label: string): string {
  const value = `${label}-${randomBytes(4).toString('hex')}`;
  notePhi(value);
  return value;
}

/** The same for the name of a person, which has no digits: `Lopez` becomes `Lopez-lfjapcgi`. */
export function phiName(label: string): string {
  const letters = [...randomBytes(8)].map((byte) => String.fromCharCode(97 + (byte % 26)));
  const value = `${label}-${letters.join('')}`;
  notePhi(value);
  return value;
}
