import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe } from 'vitest';
import { LocalBackupTarget } from '../../src/storage/engines/filesystem/targets.ts';
import { backupTargetContract } from './contracts/backupTarget.ts';

const folder = mkdtempSync(join(tmpdir(), 'chartledger-backup-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('LocalBackupTarget', () => {
  const file = join(folder, 'a file');
  writeFileSync(file, '');
  backupTargetContract({
    open: () => new LocalBackupTarget(join(folder, 'not', 'made', 'yet')),
    openAway: () => new LocalBackupTarget(join(file, 'inside')),
  });
});
