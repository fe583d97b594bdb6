import { randomBytes } from 'node:crypto';
import { appendFileSync } from 'node:fs';
import { outputFolder } from './output.ts';

/**
 * Notes values that no log may ever hold (names, ids, SSNs …); the suite's last phase looks for them in everything
 * that the tested services logged. Values under 6 characters would be found by chance and are passed over.
 */
export function notePhi(...values: string[]): void {
  const lines = values.filter((value) => value.length >= 6).map((value) => `${JSON.stringify(value)}\n`);
  appendFileSync(`${outputFolder}/phi/${process.pid}.jsonl`, lines.join(''));
}

/** A fresh value that is noted as PHI: `Lopez` becomes `Lopez-5f3a9c02`. */
export function phi(label: string): string {
  const value = `${label}-${randomBytes(4).toString('hex')}`;
  notePhi(value);
  return value;
}
