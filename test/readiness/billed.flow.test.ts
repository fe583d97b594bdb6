import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { EncounterBilled } from '../../src/events/encounterReadiness.ts';
import { newEvent } from '../../src/events/newEvent.ts';
import { encounterReadinessStream } from '../../src/events/streamNames.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { onEveryEngine } from '../support/engines.ts';
import { eventually } from '../support/eventually.ts';
import { paths } from '../support/fieldValues.ts';
import { phi } from '../support/phi.ts';
import { samples } from '../support/samples.ts';
import { appendedBy, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

onEveryEngine((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const clinic = () => service.workspaceId('clinic');
  const cli = (...args: string[]) =>
    runCli([...args, '--workspace', clinic()], {
      env: { ...storesOf(service.config), DATA_DIR: folder },
    });
  const post = async (path: string, body: object) => {
    expect((await service.post(path, body)).status).toBe(200);
  };

  test(
    'what became of an encounter in billing is erased with it, also what comes late; used again, the id begins anew',
    async () => {
      const patient = samples.patient();
      const encounter = { id: phi('encounter'), patient_id: patient.id };
      const [claim, head] = [phi('claim'), join(folder, 'head.json')];
      const stream = encounterReadinessStream(clinic(), encounter.id);
      const bill = () => {
        const principal = { type: 'operator', id: 'test' } as const;
        const caller = { workspace: clinic(), principal, requestId: randomUUID() };
        const data: EncounterBilled = { encounter_id: encounter.id, claim_id: claim, versions: [] };
        return service.eventLog.append(stream, newEvent(caller, 'EncounterBilled', { ...data }), 'any');
      };
      const types = async () =>
        (await service.eventLog.readStream(stream, { limit: 10 })).map(({ type }) => type);
      const erase = async (kind: string, id: string, ...more: string[]) => {
        const { code, stdout, stderr } = await cli(
          'erase',
          kind,
          id,
          '--reason',
          'Request 2026-117',
          ...more,
        );
        expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
        return stdout;
      };
      /** The read models may lag. */
      const verified = (...args: string[]) =>
        eventually(async () => expect((await cli('verify', ...args)).code).toBe(0));
      await post(paths.patient, patient);
      await post(paths.encounter, encounter);
      await bill();
      await bill();
      await verified('--save-head', head);
      const certificate = join(folder, 'certificate.json');
      const appended = await appendedBy(service, async () => {
        const told = await erase('patient', patient.id, '--with-encounters', '--certificate', certificate);
        expect(told).toMatch(/readiness +1 +2\n/);
      });
      expect(appended).toContain(`clinic.readiness-${encodeURIComponent(encounter.id)}: ReadinessErased`);
      expect(await types()).toEqual(['ReadinessErased']);
      for (const { name, bytes } of storedBytes())
        expect([name, bytes.includes(claim)]).toEqual([name, false]);
      const out = join(folder, 'whole.ndjson');
      expect((await cli('export', '--format', 'ndjson', '--out', out)).code).toBe(0);
      expect(readFileSync(out, 'utf8')).not.toContain(claim);
      expect(readFileSync(certificate, 'utf8')).toContain('ReadinessErased');
      await verified('--head', head);
      // One that was let in before.
      await bill();
      await eventually(async () => expect(await types()).toEqual(['ReadinessErased']));
      await service.restart();
      await post(paths.patient, patient);
      await post(paths.encounter, encounter);
      await bill();
      expect(await types()).toEqual(['ReadinessErased', 'EncounterBilled']);
      expect(await erase('encounter', encounter.id)).toMatch(/readiness +1 +6\n/);
      expect(await types()).toEqual(['ReadinessErased']);
    },
    LONG_MS,
  );

  /** All files of the embedded engines. */
  function storedBytes(): { name: string; bytes: Buffer }[] {
    const { eventLogUrl } = service.config;
    if (!eventLogUrl.startsWith('sqlite:')) return [];
    const data = eventLogUrl.slice('sqlite:'.length).replace(/[^/]*$/, '');
    return readdirSync(data, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .map((name) => ({ name, bytes: readFileSync(name) }));
  }
});
