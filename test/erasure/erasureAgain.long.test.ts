import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
const REASON = 'Request 2026-117';

onEveryEngine((start) => {
  const folder = temporaryFolder();
  const pem = join(folder, 'key.pem');
  let service: TestService;
  beforeAll(async () => {
    service = await start();
    writeFileSync(pem, (await cli('secrets', 'show', 'signing')).stdout);
  });
  afterAll(() => service.stop());

  let patient: { id: string };
  let encounter: { id: string; patient_id: string };
  beforeEach(async () => {
    patient = samples.patient();
    encounter = { id: phi('encounter'), patient_id: patient.id };
    expect((await service.post('/integration/patients', patient)).status).toBe(200);
    expect((await service.post('/integration/encounters', encounter)).status).toBe(200);
    expect((await service.upload(documentsPath(encounter.id), documentForm())).status).toBe(200);
    await eventually(requireCaughtUp, LONG_MS);
  });

  const cli = (...args: string[]) => runCli(args, { env: { ...storesOf(service.config), DATA_DIR: folder } });
  const erase = (...more: string[]) =>
    cli(
      ...['records', 'erase', 'patient', patient.id, '--workspace', service.workspaceId('clinic')],
      ...['--reason', REASON, '--with-encounters', ...more],
    );
  const holds = async (certificate: string) => {
    const { code, stdout, stderr } = await runCli(['verify', certificate, '--public-key', pem]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    return stdout;
  };

  test(
    'a record that was erased already is certified with all that went with it, and nothing is appended',
    async () => {
      const certificate = join(folder, 'later.json');
      expect((await erase()).code).toBe(0);
      await eventually(requireCaughtUp, LONG_MS);
      const refused = await erase();
      expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('Patient was erased.') });
      const appended = await appendedBy(service, async () => {
        const { code, stdout, stderr } = await erase('--certificate', certificate);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).toMatch(
          new RegExp(`^The patient was erased already, at \\d{4}-\\S+ by operator \\S+: ${REASON}\n`),
        );
      });
      expect(appended).toEqual([]);
      const told = await holds(certificate);
      expect(told).toContain('3 erasures in ');
      for (const stream of [`.patient-${patient.id}`, `.encounter-${encounter.id}`, '.document-'])
        expect(told).toContain(stream);
    },
    LONG_MS,
  );

  test(
    'with read models that lag, the erasure is recorded and completed later, and that is no error',
    async () => {
      const certificate = join(folder, 'lagging.json');
      const path = `/integration/encounters/${encounter.id}`;
      await service.restart(async () => {
        const { code, stdout, stderr } = await erase('--certificate', certificate);
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        expect(stdout).toContain('The erasure is recorded, and nobody is given the record any more.');
        expect(stdout).toContain('The service completes the rest');
        expect(stdout).toContain('The certificate cannot be created yet');
        expect(existsSync(certificate)).toBe(false);
        const again = await erase('--certificate', certificate);
        expect(again).toMatchObject({ code: 0, stderr: '' });
        expect(again.stdout).toContain('was erased already');
        expect(existsSync(certificate)).toBe(false);
      });
      await eventually(async () => expect((await service.get(path)).status).toBe(410), LONG_MS);
      await eventually(async () => {
        expect((await erase('--certificate', certificate)).code).toBe(0);
        expect(JSON.parse(readFileSync(certificate, 'utf8')).tombstones).toHaveLength(3);
      }, LONG_MS);
      await holds(certificate);
    },
    LONG_MS,
  );

  // The last one, since the test server's live subscriptions lose their place in a scavenge, as EventStoreDB's do not.
  test('what an erasure left in the files of the stores is taken out by a repeat with --scavenge', async () => {
    expect((await erase()).code).toBe(0);
    const scavenged = await erase('--scavenge', '--wait');
    expect(scavenged.code).toBe(0);
    expect(scavenged.stdout).toContain(
      service.eventLog.scavenger
        ? 'Nothing of it is left in the files of the event log, on any node.'
        : 'Nothing of it is left in the files of the stores.',
    );
  });

  /** Every read model holds all that the log does. */
  async function requireCaughtUp(): Promise<void> {
    const { stdout } = await cli('projections', 'status', '--json');
    for (const { behind } of JSON.parse(stdout)) expect(behind).toBe(0);
  }
});
