import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { exportEvents, startOfExport } from '../../src/modules/integrity/export.ts';
import { ExportFile, type ExportJob } from '../../src/modules/integrity/exportArchive.ts';

import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { accessesBy, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

/** Erasures while an export reads the log. */
onEveryEngine((start) => {
  const folder = temporaryFolder();
  const inFolder = (name: string) => join(folder, name);
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const cli = (...args: string[]) => runCli(args, { env: { ...storesOf(service.config), DATA_DIR: folder } });

  const jobOf = (): ExportJob => ({
    ...{ workspace: clinic(), filters: { from: null, to: null, kind: null } },
    format: 'ndjson',
  });

  function contextOf() {
    const principal = { type: 'operator', id: 'test' } as const;
    const caller = { workspace: clinic(), principal, requestId: uuidv7() };
    return { eventLog: service.eventLog, caller, nameOf: () => undefined };
  }

  /** Returns an export that has begun, of a log in which a patient is erased before anything is read. */
  async function begun() {
    const patient = samples.patient();
    await service.post('/integration/patients', patient);
    const progress = startOfExport(await service.eventLog.head());
    const erased = await cli(
      'records',
      'erase',
      'patient',
      patient.id,
      '--workspace',
      clinic(),
      '--reason',
      'asked',
    );
    expect(erased).toMatchObject({ code: 0 });
    return progress;
  }

  async function expectVerified(path: string): Promise<void> {
    const key = inFolder('public.pem');
    writeFileSync(key, (await cli('secrets', 'show', 'signing')).stdout);
    expect(await cli('verify', path, '--public-key', key)).toMatchObject({ code: 0, stderr: '' });
  }

  test(
    'an export that was killed before it read the tombstones reads them when it goes on',
    async () => {
      const path = inFolder('killed.ndjson');
      const progress = await begun();
      const file = await ExportFile.open(path, jobOf(), false);
      const sink = {
        write: (text: string) => file.write(text),
        async reached(now: typeof progress) {
          await file.reached(now);
          if (now.position === now.until) throw new Error('killed');
        },
      };
      await expect(exportEvents(contextOf(), jobOf(), progress, sink)).rejects.toThrow('killed');
      await file.close();
      const args = ['--workspace', clinic(), '--format', 'ndjson', '--out', path];
      expect(await cli('export', ...args)).toMatchObject({
        code: 0,
        stderr: expect.stringContaining('Going on after '),
      });
      expect(readFileSync(path, 'utf8')).toContain('"erased":true');
      await expectVerified(path);
    },
    LONG_MS,
  );

  test(
    'what is exported on the way to the tombstones is in the audit trail, as the rest is',
    async () => {
      const progress = await begun();
      const { until } = progress;
      await service.post('/integration/patients', samples.patient());
      const lines: { position: number }[] = [];
      const sink = {
        async write(text: string) {
          lines.push(
            ...text
              .trimEnd()
              .split('\n')
              .map((line) => JSON.parse(line)),
          );
        },
        reached: async () => undefined,
      };
      const [access, ...others] = await accessesBy(service, () =>
        exportEvents(contextOf(), jobOf(), progress, sink),
      );
      const [before, entry] = lines.slice(-2).map(({ position }) => position) as [number, number];
      expect(before).toBeGreaterThan(until);
      expect([access, others]).toMatchObject([{ action: 'export', query: { format: 'ndjson' } }, []]);
      const { ranges } = (access as { shown: { ranges: { from: number; to: number }[] } }).shown;
      expect(ranges).toEqual([{ from: until + 1, to: expect.any(Number) }]);
      expect(ranges[0]?.to).toBeGreaterThanOrEqual(before);
      expect(ranges[0]?.to).toBeLessThan(entry);
    },
    LONG_MS,
  );
});
