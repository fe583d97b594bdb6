import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';

onEveryEngine((start) => {
  const folder = temporaryFolder();
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const cli = async (...args: string[]) => {
    const env = { ...storesOf(service.config), DATA_DIR: folder };
    const { code, stdout, stderr } = await runCli(args, { env });
    expect({ args, code, stderr }).toEqual({ args, code: 0, stderr: '' });
    return stdout;
  };
  const inClinic = (...args: string[]) => cli(...args, '--workspace', service.workspaceId('clinic'));
  /** Without the entries about the exports made here. */
  const trail = async (kind: string, id: string) => {
    const entries = JSON.parse(await inClinic('audit', '--kind', kind, '--id', id, '--format', 'json'));
    return entries.filter(({ action }: { action?: string }) => action !== 'audit.export');
  };
  const erase = (id: string) =>
    inClinic('records', 'erase', 'patient', id, '--with-encounters', '--reason', 'Request 2026-117');
  const rebuild = () => cli('projections', 'rebuild', 'audit');

  test('the audit trail goes on telling who wrote what was erased, and tells the same when it is built anew', async () => {
    const patient = samples.patient();
    const encounter = { id: phi('encounter'), patient_id: patient.id };
    const form = documentForm();
    for (const answer of [
      await service.post('/integration/patients', patient, {
        'user-agent': 'EMR/7',
        'x-request-id': 'call-7',
      }),
      await service.post('/integration/patients', { ...patient, city: 'Omaha' }),
      await service.post('/integration/encounters', encounter),
      await service.upload(documentsPath(encounter.id), form),
    ])
      expect(answer.status).toBe(200);
    const trails = () =>
      Promise.all([
        trail('patient', patient.id),
        trail('encounter', encounter.id),
        trail('document', encounter.id),
      ]);
    const before = (await trails()).flat();
    expect(before).toMatchObject([
      { type: 'PatientUpserted', version: 2 },
      { type: 'PatientUpserted', version: 1, principal_type: 'api_key', user_agent: 'EMR/7' },
      { type: 'EncounterUpserted', version: 1 },
      { type: 'DocumentUploaded', version: 1, document_id: form.get('document_id') },
    ]);
    await erase(patient.id);
    const after = await trails();
    expect(after.flat()).toEqual(expect.arrayContaining(before));
    expect(after.map(([{ type, version }]) => [type, version])).toEqual([
      ['RecordErased', 3],
      ['RecordErased', 2],
      ['DocumentErased', 2],
    ]);
    await rebuild();
    expect(await trails()).toEqual(after);
    // A tombstone that is erased is listed like any other event, by the one that comes after it.
    expect((await service.post('/integration/patients', patient)).status).toBe(200);
    await erase(patient.id);
    const again = await trails();
    expect(again[0]).toHaveLength(5);
    await rebuild();
    expect(await trails()).toEqual(again);
  });
});
