import { chmodSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { outputFolder } from './output.ts';

const PREFIX = 'chartledger-tests-';

/**
 * Makes the folders in which a run of the tests keeps what later ones read, emptied by the first of them, and one for all
 * temporary files, which goes with the run.
 */
export default function setup(): () => void {
  if (process.env.TEST_PHASE === undefined) rmSync(outputFolder, { recursive: true, force: true });
  for (const folder of ['logs', 'phi', 'totals']) mkdirSync(join(outputFolder, folder), { recursive: true });
  // Each project of a run is set up, and sockets have short paths: one folder is for all.
  if (tmpdir().includes(PREFIX)) return () => undefined;
  const temporary = mkdtempSync(join(tmpdir(), PREFIX));
  // Some services run as another user.
  chmodSync(temporary, 0o711);
  process.env.TMPDIR = temporary;
  return () => rmSync(temporary, { recursive: true, force: true, maxRetries: 5 });
}
