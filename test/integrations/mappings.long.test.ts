import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import {
  bundle,
  fhirCoverage,
  fhirEncounter,
  fhirPatient,
  fhirPayer,
  freshId,
  putFhir,
  referTo,
  sendFhir,
} from '../support/fhir.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, changesBy, type TestService } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  const folder = temporaryFolder();
  beforeAll(async () => {
    service = await start();
    await cli('sources', 'set', 'lab', '--format', 'hl7v2', '--patient-authority', 'MPI');
    await cli('sources', 'set', 'epic', '--format', 'fhir', '--id-system', `Patient=${mrn}`);
  });
  afterAll(() => service.stop());

  const mrn = 'https://hospital.example/mrn';
  const inWorkspace = (label: string, ...args: string[]) =>
    runCli([...args, '--workspace', service.workspaceId(label)], {
      env: { ...storesOf(service.config), DATA_DIR: service.config.dataDir },
    });
  const cli = (...args: string[]) => inWorkspace('clinic', ...args);
  /** A file with the configuration of a source as it is listed, but for these settings. */
  async function candidate(source: string, settings: JsonObject): Promise<string> {
    const listed = JSON.parse((await cli('sources', 'list', '--json')).stdout) as JsonObject[];
    const path = join(folder, `${freshId('candidate')}.json`);
    writeFileSync(path, JSON.stringify({ ...listed.find(({ id }) => id === source), ...settings }));
    return path;
  }
  const mappings = async (command: string, source: string, file: string, ...args: string[]) => {
    const { code, stdout, stderr } = await cli(
      ...['mappings', command, file, '--source', source, '--json', ...args],
    );
    expect(stderr).toBe('');
    return { code, ...JSON.parse(stdout) };
  };
  async function admit(message: string): Promise<void> {
    const headers = { 'content-type': 'application/hl7-v2' };
    const { text } = await service.send('/hl7/v2', { method: 'POST', headers, body: message });
    expect(text).toContain('MSA|AA|');
  }
  const visit = (patient: string, id: string, at: string) =>
    hl7Message('ADT^A01', [
      ['PID', { 3: `${patient}^^^MPI~h-${patient}^^^HOSP`, 5: 'Lopez^Ana', 7: '19840229' }],
      ['PV1', { 2: 'O', 19: id, 44: at }],
    ]);
  const patch = (path: string, body: JsonObject) =>
    service.send(path, {
      ...{ method: 'PATCH', headers: { 'content-type': 'application/merge-patch+json' } },
      body: JSON.stringify(body),
    });

  test('records that another time zone changes are told, but for what somebody changed since', async () => {
    const [patient, one, other] = [freshId('patient'), freshId('visit'), freshId('visit')];
    for (const [id, at] of [
      [one, '20260314'],
      [one, '202603150930'],
      [other, '202603150930'],
    ] as const) {
      await admit(visit(patient, id, at));
    }
    await patch(`/integration/encounters/${other}`, { date_of_service: '2026-03-16T00:00:00Z' });
    const file = await candidate('lab', { time_zone: 'America/Denver' });
    const change = { field: 'date_of_service', to: '2026-03-15T09:30:00-06:00' };
    let read: JsonObject[] = [];
    const events = await changesBy(service, async () => {
      read = await accessesBy(service, async () => {
        expect(await mappings('test', 'lab', file)).toMatchObject({
          ...{ code: 0, messages: 3, made: [], left: [], otherwise: [] },
          changed: [
            {
              ...{ kind: 'encounter', id: one, version: 2, changed_since: [] },
              changes: [{ ...change, from: '2026-03-15T09:30:00Z' }],
            },
            {
              ...{ kind: 'encounter', id: other, version: 2, changes: [] },
              changed_since: [{ ...change, from: '2026-03-16T00:00:00Z' }],
            },
          ],
        });
      });
    });
    expect(events).toEqual([]);
    expect(read.filter(({ action }) => action === 'message.read')).toMatchObject([
      {
        query: { source: 'lab', last: '1000', messages: '3' },
        shown: {
          things: [
            { kind: 'encounter', record_id: one },
            { kind: 'encounter', record_id: other },
          ],
        },
      },
    ]);
    const { stdout } = await cli('mappings', 'test', file, '--source', 'lab', '--last', '1');
    expect(stdout).toContain(`changed since, stays: date_of_service: "2026-03-16T00:00:00Z" →`);
    expect(stdout).toContain('By 1 messages: records that change 0');
  });

  test('records under another id are told as made, and the earlier ones as they stay', async () => {
    const [patient, id] = [freshId('patient'), freshId('visit')];
    await admit(visit(patient, id, '202603150930'));
    const file = await candidate('lab', { patient_authority: 'HOSP' });
    expect(await mappings('test', 'lab', file, '--last', '1')).toMatchObject({
      ...{ messages: 1, otherwise: [], left: [{ kind: 'patient', id: patient }] },
      made: [{ kind: 'patient', id: `h-${patient}`, fields: { last_name: 'Lopez' } }],
      changed: [
        { kind: 'encounter', id, changes: [{ field: 'patient_id', from: patient, to: `h-${patient}` }] },
      ],
    });
  });

  test('messages that would be refused, or taken, are told, and undo nothing', async () => {
    const [taken, refused] = [freshId('mrn'), freshId('mrn')];
    const identified = (system: string, value: string) => ({ identifier: { system, value } });
    const patient = fhirPatient({ identifier: [{ system: mrn, value: taken }] });
    const encounter = fhirEncounter(identified(mrn, taken));
    const other = fhirEncounter(identified('urn:other', refused));
    expect((await putFhir(service, patient)).status).toBe(201);
    expect((await putFhir(service, encounter)).status).toBe(201);
    expect((await putFhir(service, other)).status).toBe(400);
    await service.post('/integration/patients', {
      ...{ id: refused, first_name: 'A', last_name: 'B', date_of_birth: '1980-02-29' },
    });
    const file = await candidate('epic', { id_systems: { Patient: 'urn:other' } });
    expect(await mappings('test', 'epic', file)).toMatchObject({
      ...{ messages: 3, changed: [], left: [{ kind: 'patient', id: taken }] },
      made: [{ kind: 'patient', id: patient.id }],
      otherwise: [
        { from: 'accepted', to: 'rejected', problems: [{ at: 'Encounter.subject' }] },
        { from: 'rejected', to: 'accepted', problems: [] },
      ],
    });
  });

  test('what is applied is one event for each record, by the last message that led to it; repeated it is none', async () => {
    const [patient, id, other] = [freshId('patient'), freshId('visit'), freshId('visit')];
    await admit(visit(patient, id, '202603150930'));
    await admit(visit(patient, other, '202603150930'));
    await patch(`/integration/encounters/${other}`, { date_of_service: '2026-03-16T00:00:00Z' });
    const file = await candidate('lab', { patient_authority: 'HOSP', time_zone: 'America/Denver' });
    const earlier = await candidate('lab', {});
    const messages = JSON.parse((await cli('messages', 'list', '--json', '--limit', '2')).stdout);
    const [last, first] = messages.map((one: { id: string }) => one.id);
    const apply = () => mappings('apply', 'lab', file, '--last', '2');
    const events = await changesBy(service, async () => {
      expect(await apply()).toMatchObject({
        ...{ code: 0, refused: [], left: [{ kind: 'patient', id: patient }] },
        applied: [
          { kind: 'patient', id: `h-${patient}`, outcome: 'created', version: 1 },
          { kind: 'encounter', id, outcome: 'updated', version: 2 },
          { kind: 'encounter', id: other, outcome: 'updated', version: 3 },
        ],
      });
    });
    const source = { id: 'lab', configuration: 3 };
    expect(
      events.map(({ type, data, metadata }) => [
        ...[type, metadata.principal.type, metadata.source],
        type === 'EncounterUpserted' && data,
      ]),
    ).toEqual([
      ['SourceConfigured', 'operator', undefined, false],
      ['PatientUpserted', 'operator', { ...source, message: last }, false],
      [
        ...['EncounterUpserted', 'operator', { ...source, message: first }],
        { id, patient_id: `h-${patient}`, date_of_service: '2026-03-15T09:30:00-06:00' },
      ],
      [
        ...['EncounterUpserted', 'operator', { ...source, message: last }],
        { id: other, patient_id: `h-${patient}` },
      ],
    ]);
    const { body } = await service.get(`/integration/encounters/${id}/history`);
    expect(body.items.map((one: JsonObject) => one.source)).toEqual([
      { ...source, message: first },
      { id: 'lab', message: first },
    ]);
    expect((await service.get(`/integration/patients/${patient}`)).body.version).toBe(1);
    // Whoever erases a record that was made finds the messages that tell of it.
    const [newest] = JSON.parse((await cli('messages', 'list', '--json', '--limit', '1')).stdout);
    expect(newest.about).toContainEqual({ kind: 'patient', id: `h-${patient}` });
    expect(await changesBy(service, apply)).toEqual([]);
    const none = await cli('mappings', 'apply', file, '--source', 'lab', '--last', '2');
    expect(none.stdout).toContain('nothing was to be written');
    // The messages count as they were read last: what the earlier configuration made comes back by that.
    const back = await changesBy(service, () => mappings('apply', 'lab', earlier, '--last', '2'));
    expect(back.map(({ type, data }) => [type, data])).toEqual([
      ['SourceConfigured', expect.anything()],
      ['EncounterUpserted', { id, patient_id: patient, date_of_service: '2026-03-15T09:30:00Z' }],
      ['EncounterUpserted', { id: other, patient_id: patient }],
    ]);
  });

  test('an insurance is corrected whole, and its payer made under the other id', async () => {
    const payer = fhirPayer({ identifier: [{ system: 'urn:payers', value: freshId('payer') }] });
    const patient = fhirPatient({ identifier: [{ system: mrn, value: freshId('mrn') }] });
    const coverage = fhirCoverage(referTo(patient), referTo(payer), { subscriberId: 'S-1' });
    const sent = await sendFhir(service, '/fhir', bundle('transaction', coverage, patient, payer));
    expect(sent.status).toBe(200);
    const [{ value: patientId }] = patient.identifier as [{ value: string }];
    const [{ value: payerId }] = payer.identifier as [{ value: string }];
    const file = await candidate('epic', { id_systems: { Patient: mrn, Organization: 'urn:payers' } });
    const before = (await service.get(`/integration/patients/${patientId}`)).body.record;
    expect(before.primary_insurance.payer_id).toBe(payer.id);
    expect(await mappings('apply', 'epic', file, '--last', '1')).toMatchObject({
      ...{ code: 0, refused: [], left: [{ kind: 'payer', id: payer.id }] },
      changed: [{ changes: [{ field: 'primary_insurance.payer_id', from: payer.id, to: payerId }] }],
      applied: [
        { kind: 'payer', id: payerId },
        { kind: 'patient', id: patientId, version: 2 },
      ],
    });
    const { record } = (await service.get(`/integration/patients/${patientId}`)).body;
    expect(record).toEqual({
      ...before,
      primary_insurance: { ...before.primary_insurance, payer_id: payerId },
    });
  });

  test('what came when no source was configured gets a source by the first configuration', async () => {
    const client = service.as((await service.createKey('unconfigured')).key);
    const value = freshId('mrn');
    const patient = fhirPatient({ identifier: [{ system: mrn, value }] });
    expect((await sendFhir(client, '/fhir/Patient', patient)).status).toBe(201);
    const file = join(folder, 'first.json');
    writeFileSync(file, JSON.stringify({ id: 'first', format: 'fhir', id_systems: { Patient: mrn } }));
    const apply = async () => {
      const applied = await inWorkspace('unconfigured', 'mappings', 'apply', file, '--source', 'default');
      expect(applied).toMatchObject({ code: 0, stderr: '' });
    };
    const events = await changesBy(service, apply);
    expect(events.map(({ type, data, metadata }) => [type, data.id, metadata.source?.id])).toEqual([
      ['SourceConfigured', undefined, undefined],
      ['PatientUpserted', value, 'first'],
    ]);
    expect(await changesBy(service, apply)).toEqual([]);
  });

  test('a file that is no configuration of the source is refused', async () => {
    const wrong = await candidate('lab', { time_zone: 'Nowhere' });
    const other = await candidate('lab', { id: 'other' });
    const none = join(folder, 'none.json');
    for (const [file, text] of [
      [wrong, 'time_zone must be a time zone'],
      [other, 'id must match the source'],
      [none, 'cannot be read'],
    ] as const) {
      const { code, stderr } = await cli('mappings', 'test', file, '--source', 'lab');
      expect([code, stderr]).toEqual([1, expect.stringContaining(text)]);
    }
  });
});
