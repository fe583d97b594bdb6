import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fromBufferPromise } from 'yauzl';
import { patientSchema } from '../../src/modules/integrations/fhir/resources/patient.ts';
import { pathOf } from '../../src/server/openStorage.ts';
import { runCli, runInWorkspace, temporaryFolder } from '../support/cli.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, pdf, samples, zip } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, readAll, sharedService, type TestService } from '../support/service.ts';

const ENCOUNTERS = 100;
const DOCUMENTS = 20;

onEmbeddedEngines(() => {
  let service: TestService;
  const folder = temporaryFolder();
  const publicKey = join(folder, 'key.pem');
  const payer = samples.payer();
  const patient = {
    ...samples.patient(),
    first_name: 'María <b>',
    primary_insurance: { payer_id: payer.id, policy_number: 'W1', subscriber_relationship: 'self' },
  };
  const merged = { ...samples.patient(), merged_into: patient.id };
  const encounters = Array.from({ length: ENCOUNTERS }, (_, at) => ({
    id: phi('encounter'),
    patient_id: at % 10 === 0 ? merged.id : patient.id,
    date_of_service: `2026-${String((at % 12) + 1).padStart(2, '0')}-05T09:30:00Z`,
    visit_type: 'office_visit',
  }));
  const documents = Array.from({ length: DOCUMENTS }, (_, at) => ({
    encounterId: encounters[at * 3]?.id as string,
    document_id: phi('document'),
    filename: '../lab results.pdf',
    content: pdf(`content ${at}`),
  }));

  beforeAll(async () => {
    service = await sharedService();
    const send = async (path: string, body: object) =>
      expect((await service.post(path, body)).status).toBe(200);
    await send('/integration/payers', payer);
    await send('/integration/patients', patient);
    await send('/integration/patients', merged);
    for (const one of encounters) await send('/integration/encounters', one);
    for (const { encounterId, ...one } of documents) await upload(encounterId, one);
    await service.keys.setOrganization(service.workspaceId('clinic'), 'Elm Street Clinic, Inc.');
    // What is not the patient's, and what is no longer theirs.
    await send('/integration/patients', { ...samples.patient(), id: 'other' });
    await send('/integration/encounters', { ...encounters[1], id: 'of-other', patient_id: 'other' });
    await upload(encounters[1]?.id as string, { document_id: 'removed' });
    await service.delete(documentsPath(encounters[1]?.id as string, 'removed'));
  }, 60_000);
  afterAll(() => service.stop());

  const upload = async (encounterId: string, form: Parameters<typeof documentForm>[0]) => {
    const answer = await service.upload(documentsPath(encounterId), documentForm(form));
    expect(answer.status).toBe(200);
  };
  const copy = (id: string, ...more: string[]) =>
    runInWorkspace(service, 'records', 'copy', 'patient', id, ...more);
  const verify = (file: string) => runCli(['verify', file, '--public-key', publicKey]);

  /** The records and documents of the workspace, folded from the log by the test itself. */
  async function folded() {
    const records = new Map<string, Record<string, unknown>>();
    const present = new Map<string, Record<string, unknown>>();
    for (const { type, data, stream } of await readAll(service.eventLog)) {
      if (/^(?:Patient|Encounter|Payer)Upserted$/.test(type))
        records.set(`${type} ${String(data.id)}`, { ...records.get(`${type} ${String(data.id)}`), ...data });
      if (type === 'DocumentUploaded') present.set(stream, data);
      if (type === 'DocumentRemoved') present.delete(stream);
    }
    const of = (type: string) =>
      [...records].filter(([name]) => name.startsWith(`${type} `)).map(([, fields]) => fields);
    const mine = new Set([patient.id, merged.id]);
    const visits = of('EncounterUpserted').filter((one) => mine.has(String(one.patient_id)));
    const ids = new Set(visits.map(({ id }) => id));
    return {
      patients: of('PatientUpserted').filter(({ id }) => mine.has(String(id))),
      encounters: visits,
      documents: [...present.values()].filter((one) => ids.has(one.encounter_id)),
    };
  }

  test('has all that the log holds of the patient and of those merged into it, and nothing else', async () => {
    const out = join(folder, 'copy.zip');
    const before = await folded();
    const accesses = await accessesBy(service, async () => {
      expect(await copy(merged.id, '--out', out)).toMatchObject({ code: 0, stderr: '' });
    });
    expect(accesses).toMatchObject([
      {
        action: 'record.copy',
        kind: 'patient',
        record_id: merged.id,
        disclosed_to: { recipient: 'The patient', purpose: 'other' },
        shown: { count: 2 + ENCOUNTERS + DOCUMENTS + 1 },
      },
    ]);
    const files = await unzipped(readFileSync(out));
    writeFileSync(publicKey, files.get('chartledger.pem') as Buffer);
    const json = JSON.parse(String(files.get('patient.json')));
    expect([json.patient, ...json.merged_patients].map(({ record }) => record)).toEqual(
      before.patients.map((fields) => expect.objectContaining(fields)),
    );
    const byId = (a: { id?: unknown }, b: { id?: unknown }) => String(a.id).localeCompare(String(b.id));
    expect(json.encounters.map(({ record }: { record: object }) => record).sort(byId)).toEqual(
      before.encounters.toSorted(byId).map((fields) => expect.objectContaining(fields)),
    );
    expect(before.documents).toHaveLength(DOCUMENTS);
    const hashes = json.documents.map(({ path }: { path: string }) => sha256(files.get(path)));
    expect(hashes.sort()).toEqual(before.documents.map((one) => one.sha256).sort());
    expect(
      json.documents.every(({ path }: { path: string }) => /^documents\/\d{3}-[^/]+\.pdf$/.test(path)),
    ).toBe(true);
    const page = String(files.get('patient.html'));
    expect(page.match(/<h3>Visit of /g)).toHaveLength(ENCOUNTERS);
    const days = [...page.matchAll(/<h3>Visit of (\w+ \d+, \d+)/g)].map(([, day]) =>
      Date.parse(day as string),
    );
    expect(days).toEqual(days.toSorted((one, other) => other - one));
    expect(page).toContain('<h1>Health record of <bdi>María &lt;b&gt;');
    expect(page).not.toContain('of-other');
    expect(page).toContain('everything that <bdi>Elm Street Clinic, Inc.</bdi> holds about you');
    expect(page).toContain('<dt>Insured person</dt><dd><bdi>You</bdi></dd>');
    expect(page).toMatch(/<h3>Visit of January 5, 2026 at 9:30\sAM UTC<\/h3>/);
    const bundle = JSON.parse(String(files.get('fhir-bundle.json')));
    expect(
      bundle.entry.map(({ resource }: { resource: { resourceType: string } }) => resource.resourceType),
    ).toEqual([
      ...['Patient', 'Patient', 'Coverage'],
      ...Array(ENCOUNTERS).fill('Encounter'),
      ...Array(DOCUMENTS).fill('DocumentReference'),
      'Organization',
    ]);
    expect((await verify(out)).stdout).toContain(`${DOCUMENTS + 3} files`);
  });

  test('is read as FHIR by the interface for FHIR, and each reference is to an entry', async () => {
    const { entry } = JSON.parse(
      String((await unzipped(readFileSync(join(folder, 'copy.zip')))).get('fhir-bundle.json')),
    );
    const urls = new Set(entry.map(({ fullUrl }: { fullUrl: string }) => fullUrl));
    const references = [...JSON.stringify(entry).matchAll(/"reference":"(urn:uuid:[^"]+)"/g)].map(
      ([, one]) => one,
    );
    expect(references.length).toBeGreaterThan(ENCOUNTERS);
    expect(references.filter((one) => !urls.has(one))).toEqual([]);
    const { name, birthDate } = patientSchema.parse(entry[0].resource);
    expect(name).toMatchObject([{ family: patient.last_name, given: [patient.first_name] }]);
    expect(birthDate).toBe(patient.date_of_birth);
  });

  test('is exempt in an accounting, as a disclosure to the individual', async () => {
    const report = await runInWorkspace(
      service,
      ...['disclosures', 'list', 'patient', patient.id, '--accounting', '--format', 'json'],
    );
    const copies = JSON.parse(report.stdout).disclosures.filter(
      ({ action }: { action: string }) => action === 'record.copy',
    );
    expect(copies).toMatchObject([{ status: 'exempt', exemption: '45 CFR 164.528(a)(1)(ii)' }]);
  });

  test('says times as the clocks of the workspace show them', async () => {
    const set = ['readiness', 'set-time-zone', 'America/Chicago'];
    expect(await runInWorkspace(service, ...set)).toMatchObject({ code: 0 });
    const out = join(folder, 'local.zip');
    expect(await copy(patient.id, '--out', out)).toMatchObject({ code: 0, stderr: '' });
    const page = String((await unzipped(readFileSync(out))).get('patient.html'));
    expect(page).toMatch(/<h3>Visit of January 5, 2026 at 3:30\sAM CST<\/h3>/);
  });

  test('a changed, removed or added file is found, and a ZIP that was cut off', async () => {
    const whole = readFileSync(join(folder, 'copy.zip'));
    const changed = join(folder, 'changed.zip');
    const entries = [...(await unzipped(whole))];
    const altered = entries.map(([name, content]): [string, Buffer] =>
      name === 'patient.html'
        ? [name, Buffer.from(String(content).replace('María', 'Marta'))]
        : [name, content],
    );
    const cases: [Buffer, RegExp][] = [
      [zip(altered), /patient\.html is not the file/],
      [zip(entries.filter(([name]) => name !== 'patient.json')), /lacks a file/],
      [
        Buffer.from(whole.toString('latin1').replaceAll('manifest.json', 'manifest.jsom'), 'latin1'),
        /no manifest/,
      ],
      [
        Buffer.from(whole.toString('latin1').replaceAll('patient.json', 'patient.jsom'), 'latin1'),
        /does not list/,
      ],
      [whole.subarray(0, whole.length / 2), /not a whole ZIP/],
    ];
    for (const [bytes, problem] of cases) {
      writeFileSync(changed, bytes);
      expect(await verify(changed)).toMatchObject({ code: 1, stderr: expect.stringMatching(problem) });
    }
  });

  test('an existing file is kept; a failure leaves nothing', async () => {
    const out = join(folder, 'copy.zip');
    const before = readFileSync(out);
    expect(await copy(patient.id, '--out', out)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/--force/),
    });
    expect(readFileSync(out).equals(before)).toBe(true);
    const { object_id } = (await folded()).documents.at(-1) as { object_id: string };
    const stored = pathOf(service.config.documentsUrl);
    const [file] = readdirSync(stored, { recursive: true, encoding: 'utf8' }).filter((name) =>
      name.endsWith(object_id),
    );
    const path = join(stored, file as string);
    const bytes = readFileSync(path);
    rmSync(path);
    const failed = join(folder, 'failed.zip');
    expect(await copy(patient.id, '--out', failed)).toMatchObject({ code: 1 });
    expect(readdirSync(folder).filter((name) => name.startsWith('failed'))).toEqual([]);
    writeFileSync(path, bytes);
  });

  test('an erased patient, and one that never was, cannot be copied', async () => {
    const erased = samples.patient();
    await service.post('/integration/patients', erased);
    const { code } = await runInWorkspace(
      service,
      'records',
      'erase',
      'patient',
      erased.id,
      '--reason',
      'asked',
    );
    expect(code).toBe(0);
    const out = join(folder, 'none.zip');
    const appended = await appendedBy(service, async () => {
      expect(await copy(erased.id, '--out', out)).toMatchObject({
        code: 1,
        stderr: expect.stringMatching(/erased/),
      });
      expect((await copy('nobody', '--out', out)).code).toBe(1);
    });
    expect(appended).toEqual([]);
    expect(existsSync(out)).toBe(false);
  });
});

function sha256(bytes: Buffer | undefined): string {
  return createHash('sha256')
    .update(bytes as Buffer)
    .digest('hex');
}

async function unzipped(zip: Buffer): Promise<Map<string, Buffer>> {
  const found = new Map<string, Buffer>();
  const archive = await fromBufferPromise(zip, { lazyEntries: true });
  for await (const entry of archive.eachEntry())
    found.set(entry.fileName, await buffer(await archive.openReadStreamPromise(entry)));
  return found;
}
