import { mkdirSync, rmSync } from 'node:fs';
import { missingBrowser } from './chromium.ts';

/** Empties the folder in which the suite keeps what its last phase reads. */
export default function setup() {
  const output = process.env.TEST_OUTPUT ?? 'test/.output';
  rmSync(output, { recursive: true, force: true });
  if (missingBrowser) process.stdout.write(`\nThe tests of the dashboard are skipped: ${missingBrowser}.\n`);
  for (const folder of ['logs', 'phi', 'totals']) mkdirSync(`${output}/${folder}`, { recursive: true });
}
