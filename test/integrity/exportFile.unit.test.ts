import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startOfExport } from '../../src/modules/integrity/export.ts';
import { ExportFile, type ExportJob } from '../../src/modules/integrity/exportArchive.ts';

import { temporaryFolder } from '../support/cli.ts';

const job: ExportJob = {
  ...{ workspace: 'clinic', filters: { from: null, to: null, kind: null } },
  format: 'ndjson',
};
const progressOf = (bytes: number) => ({ ...startOfExport(100), position: bytes, bytes });

test('two runs of one export at once: neither signs, or goes on with, what both have written', async () => {
  const path = join(temporaryFolder(), 'export.ndjson');
  const first = await ExportFile.open(path, job, false);
  await first.write('line 1\n');
  const second = await ExportFile.open(path, job, false);
  await first.write('line 2\n');
  await second.write('line 1\nline 2\nline 3\n');
  const message = expect.stringMatching(/\.part is also being written by another process\./);
  const describe = () => expect.unreachable();
  await expect(first.reached(progressOf(14))).rejects.toMatchObject({ code: 'conflict', message });
  await expect(second.finish(describe)).rejects.toMatchObject({ code: 'conflict', message });
  await Promise.all([first.close(), second.close()]);
  expect([path, `${path}.part.checkpoint`, `${path}.manifest.json`].filter(existsSync)).toEqual([]);

  const alone = await ExportFile.open(path, job, false);
  expect(alone.resumed).toBeUndefined();
  await alone.write('line 1\n');
  await alone.reached(progressOf(7));
  await alone.finish((digest) => digest as never);
  await alone.close();
  expect(readFileSync(path, 'utf8')).toBe('line 1\n');
});
