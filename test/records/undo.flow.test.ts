import fc from 'fast-check';
import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { recordStream } from '../../src/domain/events/streams.ts';
import type { UndoneRecord } from '../../src/modules/records/commands/undo.ts';
import type { ChangedField } from '../../src/modules/records/queries/changes.ts';
import { runCli, runInWorkspace, spawnCli, storesOf } from '../support/cli.ts';
import { type Client, linesOf, postLines } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentLine, documentsPath, pdf, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { accessesBy, appendedBy, changesBy, readAll, type TestService } from '../support/service.ts';

const LONG_MS = 120_000;
/** What `undo apply` says before it writes. */
const REQUEST = /^Undoing in request ([0-9a-f-]{36})\.\n$/;

interface Sender {
  id: string;
  client: Client;
}

onEveryEngine((start) => {
  let service: TestService;
  /** The sender whose writes are undone, and another one. */
  let bad: Sender;
  let good: Sender;
  beforeAll(async () => {
    service = await start();
    const sender = async () => {
      const { id, key } = await service.createKey('clinic');
      return { id, client: service.as(key) };
    };
    [bad, good] = [await sender(), await sender()];
  });
  afterAll(() => service.stop());

  const undo = (verb: 'plan' | 'apply', ...selection: string[]) =>
    runCli(['undo', verb, '--workspace', service.workspaceId('clinic'), ...selection], {
      env: storesOf(service.config),
    });

  /** What an undo says of the records with these ids. */
  async function undone(verb: 'plan' | 'apply', ids: string[], ...selection: string[]) {
    const { code, stdout, stderr } = await undo(verb, ...selection, '--json');
    const all: (Omit<UndoneRecord, 'undone'> & { undone: number[] })[] = JSON.parse(stdout);
    return { code, stderr, records: all.filter(({ id }) => ids.includes(id)) };
  }
  /** What `chartledger changes` says of a record. */
  const changes = async (id: string, ...selection: string[]) => {
    const { code, stdout } = await runInWorkspace(service, 'changes', ...selection, '--json');
    expect(code).toBe(0);
    return JSON.parse(stdout).filter((one: { id: string }) => one.id === id);
  };
  const since = () => ['--since', new Date(Date.now() - 1).toISOString()];
  const ofBad = () => ['--key', bad.id];

  const read = async (path: string) => (await service.get(path)).body.record;
  const patientPath = (id: string) => `/integration/patients/${id}`;

  test('a field gets the value from before, unless another sender wrote it since', async () => {
    const payer = samples.payer();
    await good.client.post('/integration/payers', payer);
    const insurance = { payer_id: payer.id, policy_number: 'P-1', group_number: 'G-1' };
    const patient = { ...samples.patient(), city: 'Omaha', state: 'NE', primary_insurance: insurance };
    await good.client.post('/integration/patients', patient);
    const before = await read(patientPath(patient.id));
    await bad.client.post('/integration/patients', {
      ...patient,
      ...{ city: 'Lincoln', state: 'CT', gender: 'other', phone: '555-0100' },
      primary_insurance: { payer_id: payer.id, policy_number: 'P-2', subscriber_id: 'S-2' },
    });
    await good.client.send(patientPath(patient.id), {
      method: 'PATCH',
      headers: { 'content-type': 'application/merge-patch+json' },
      body: JSON.stringify({ state: 'MA' }),
    });
    const planned = await appendedBy(service, async () => {
      const { code, stderr, records } = await undone('plan', [patient.id], ...ofBad());
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(records).toEqual([
        {
          ...{ kind: 'patient', id: patient.id, version: 3, action: 'revert', undone: [2] },
          fields: expect.toSatisfy((fields: UndoneRecord['fields']) => {
            expect(
              Object.fromEntries(fields.map((one) => [one.field, [one.action, one.from, one.to]])),
            ).toEqual({
              city: ['revert', 'Lincoln', 'Omaha'],
              state: ['keep', 'MA', 'MA'],
              gender: ['revert', 'other', null],
              phone: ['revert', '555-0100', null],
              primary_insurance: [
                'revert',
                { payer_id: payer.id, policy_number: 'P-2', subscriber_id: 'S-2' },
                insurance,
              ],
            });
            expect(fields.find(({ field }) => field === 'state')?.by).toMatchObject({
              version: 3,
              principal: { type: 'api_key', id: good.id },
            });
            return true;
          }),
        },
      ]);
    });
    expect(planned).toEqual([]);
    const changed = await accessesBy(service, async () => {
      const [record] = await changes(patient.id, '--principal', bad.id);
      expect(new Set(record.fields.map(({ principal }: ChangedField) => principal.id))).toEqual(
        new Set([bad.id]),
      );
      const fields = record.fields.map(({ field, from, to, version, since }: ChangedField) => [
        ...[field, from, to, version],
        since && [since.version, since.principal.id, since.value],
      ]);
      expect([record.kind, record.created, record.erased, record.versions]).toEqual([
        ...['patient', false, false, [2]],
      ]);
      expect(fields.toSorted()).toEqual([
        ['city', 'Omaha', 'Lincoln', 2, undefined],
        ['gender', null, 'other', 2, undefined],
        ['phone', null, '555-0100', 2, undefined],
        ['primary_insurance.group_number', 'G-1', null, 2, undefined],
        ['primary_insurance.policy_number', 'P-1', 'P-2', 2, undefined],
        ['primary_insurance.subscriber_id', null, 'S-2', 2, undefined],
        ['state', 'NE', 'CT', 2, [3, good.id, 'MA']],
      ]);
    });
    expect(changed.map(({ action, query }) => [action, query])).toEqual([
      ['record.changes', { principal: bad.id }],
      ['record.changes', { principal: bad.id }],
    ]);
    // Who has seen the patient includes who looked at the changes, and at the plan.
    const seen = await runInWorkspace(
      service,
      ...['audit', 'list', '--kind', 'patient', '--id', patient.id, '--seen', '--json'],
    );
    const actions = new Set(JSON.parse(seen.stdout).map(({ action }: { action: string }) => action));
    expect([actions.has('record.changes'), actions.has('record.undo')]).toEqual([true, true]);
    const events = await changesBy(service, async () => {
      const { code, stderr, records } = await undone('apply', [patient.id], ...ofBad());
      expect({ code, stderr }).toEqual({ code: 0, stderr: expect.stringMatching(REQUEST) });
      expect(records).toMatchObject([{ version: 4, action: 'revert' }]);
    });
    const history = (await service.get(`${patientPath(patient.id)}/history`)).body.items;
    expect(events.map(({ type, metadata }) => [type, metadata.reverts])).toEqual([
      ['PatientUpserted', history[2].event_id],
    ]);
    expect(history[0]).toMatchObject({ version: 4, reverts: history[2].event_id });
    expect(await read(patientPath(patient.id))).toEqual({ ...before, state: 'MA' });
    // Undoing once more finds nothing; undoing the undo brings everything back.
    expect((await undone('plan', [patient.id], ...ofBad())).records).toMatchObject([{ action: 'keep' }]);
    const request = events[0]?.metadata.requestId as string;
    await undone('apply', [patient.id], '--request', request);
    expect(await read(patientPath(patient.id))).toMatchObject({
      ...{ city: 'Lincoln', state: 'MA', gender: 'other', phone: '555-0100' },
      primary_insurance: { policy_number: 'P-2', subscriber_id: 'S-2' },
    });
  });

  test('an encounter that was created is voided, other records stay', async () => {
    const from = since();
    const patient = samples.patient();
    await bad.client.post('/integration/patients', patient);
    const encounter = { id: phi('encounter'), patient_id: patient.id };
    await bad.client.post('/integration/encounters', encounter);
    const appended = await appendedBy(service, async () => {
      const { records } = await undone('apply', [patient.id, encounter.id], ...ofBad(), ...from);
      expect(records.map(({ kind, action }) => [kind, action])).toEqual([
        ['patient', 'created'],
        ['encounter', 'void'],
      ]);
    });
    expect(appended).toEqual([`clinic.encounter-${encounter.id}: EncounterUpserted`]);
    expect(await read(`/integration/encounters/${encounter.id}`)).toMatchObject({
      voided_at: expect.any(String),
      void_reason: 'Undone',
    });
    // Completed before: it is not undone twice.
    expect(await appendedBy(service, () => undone('apply', [encounter.id], ...ofBad(), ...from))).toEqual([]);
  });

  test('a document goes back to the file from before, and one that was removed comes back', async () => {
    const from = since();
    const patient = samples.patient();
    await good.client.post('/integration/patients', patient);
    const encounter = phi('encounter');
    await good.client.post('/integration/encounters', { id: encounter, patient_id: patient.id });
    const [replaced, removed, created] = [phi('replaced'), phi('removed'), phi('created')];
    const upload = (sender: Sender, document_id: string, content: string) =>
      sender.client.upload(documentsPath(encounter), documentForm({ document_id, content: pdf(content) }));
    for (const id of [replaced, removed]) await upload(good, id, 'first');
    await upload(bad, replaced, 'second');
    await upload(bad, created, 'other');
    await bad.client.send(documentsPath(encounter, removed), { method: 'DELETE' });
    const shown = await changes(encounter, '--principal', bad.id, ...from, '--kind', 'document');
    // A file that replaces one of the same name is another file.
    const whole = ['category', 'file', 'sha256'];
    expect(
      shown.map(({ document_id, fields }: { document_id: string; fields: ChangedField[] }) => [
        document_id,
        fields.map(({ field }) => field).toSorted(),
      ]),
    ).toEqual([
      [replaced, ['sha256']],
      [created, whole],
      [removed, whole],
    ]);
    const appended = await appendedBy(service, async () => {
      const { records } = await undone('apply', [encounter], ...ofBad(), ...from, '--kind', 'document');
      expect(records.map(({ document_id, action }) => [document_id, action])).toEqual([
        [replaced, 'revert'],
        [created, 'created'],
        [removed, 'revert'],
      ]);
    });
    expect(appended.toSorted()).toEqual(
      [documentLine(encounter, removed), documentLine(encounter, replaced)].toSorted(),
    );
    for (const id of [replaced, removed]) {
      const { status, bytes } = await service.get(documentsPath(encounter, id));
      expect([status, bytes.equals(pdf('first'))]).toEqual([200, true]);
    }
  });

  test('what was erased, and what refers to it, is blocked; without a selection nothing is undone', async () => {
    const from = since();
    const [first, second] = [samples.payer(), samples.payer()];
    for (const payer of [first, second]) await good.client.post('/integration/payers', payer);
    const [patient, erased] = [samples.patient(), samples.patient()];
    await good.client.post('/integration/patients', {
      ...patient,
      primary_insurance: { payer_id: first.id },
    });
    for (const one of [patient, erased])
      await bad.client.post('/integration/patients', { ...one, primary_insurance: { payer_id: second.id } });
    const erase = (kind: string, id: string) =>
      runInWorkspace(service, 'records', 'erase', kind, id, '--reason', 'Test');
    for (const [kind, { id }] of [
      ['payer', first],
      ['patient', erased],
    ] as const)
      expect(await erase(kind, id)).toMatchObject({ code: 0 });
    const appended = await appendedBy(service, async () => {
      const { code, records } = await undone('apply', [patient.id, erased.id], ...ofBad(), ...from);
      expect(code).toBe(1);
      expect(records.map(({ action, problem }) => [action, problem])).toEqual([
        ['blocked', expect.stringContaining('primary_insurance.payer_id')],
        ['blocked', 'What was written is erased.'],
      ]);
      expect(await undo('apply')).toMatchObject({ code: 2, stderr: expect.stringContaining('--key') });
      expect(await changes(erased.id, ...from)).toMatchObject([{ erased: true, fields: [] }]);
    });
    expect(appended).toEqual([]);
  });

  test(
    'an undo that is killed is completed by the next one, once for each record',
    async () => {
      const from = since();
      const patients = Array.from({ length: 400 }, () => samples.patient());
      const send = async ({ client }: Sender, city: string) => {
        const lines = patients.map((patient) => ({ kind: 'patient', record: { ...patient, city } }));
        const { status } = await postLines(client, linesOf(lines));
        expect(status).toBe(200);
      };
      for (const [sender, city] of [
        [good, 'Omaha'],
        [bad, 'Lincoln'],
      ] as const)
        await send(sender, city);
      const args = ['undo', 'apply', '--workspace', service.workspaceId('clinic'), ...ofBad(), ...from];
      let request: string | undefined;
      const events = await changesBy(service, async () => {
        const head = await service.eventLog.head();
        const kill = new AbortController();
        const killed = spawnCli(args, { env: storesOf(service.config), kill: kill.signal });
        await eventually(async () => {
          const written = (await readAll(service.eventLog, head)).filter(
            ({ type }) => type === 'PatientUpserted',
          );
          expect(written.length).toBeGreaterThan(40);
        }, LONG_MS);
        kill.abort();
        const { code, stderr } = await killed;
        expect({ code, stderr }).toEqual({ code: null, stderr: expect.stringMatching(REQUEST) });
        [, request] = REQUEST.exec(stderr) ?? [];
        expect((await runCli(args, { env: storesOf(service.config) })).code).toBe(0);
      });
      // What the killed command wrote can be looked up.
      const requests = events.map(({ metadata }) => metadata.requestId);
      expect([requests[0], new Set(requests).size]).toEqual([request, 2]);
      expect(events.map(({ stream, type }) => `${type} ${stream}`).toSorted()).toEqual(
        patients
          .map(({ id }) => `PatientUpserted ${recordStream(service.workspaceId('clinic'), 'patient', id)}`)
          .toSorted(),
      );
      for (const { id } of [patients[0], patients.at(-1)] as { id: string }[])
        expect(await read(patientPath(id))).toMatchObject({ city: 'Omaha' });
    },
    LONG_MS,
  );

  test(
    'whatever several senders wrote, undoing one leaves what the others alone would have written',
    async () => {
      const fields = ['city', 'state', 'zip_code', 'email'] as const;
      const write = fc.record({
        isBad: fc.boolean(),
        patient: fc.nat({ max: 2 }),
        values: fc.dictionary(fc.constantFrom(...fields), fc.constantFrom('MA', 'NE', null), { minKeys: 1 }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(write, { minLength: 1, maxLength: 12 }), async (writes) => {
          const from = since();
          const patients = [0, 1, 2].map(() => samples.patient());
          const model = patients.map((patient) => new Map<string, unknown>(Object.entries(patient)));
          for (const patient of patients) await good.client.post('/integration/patients', patient);
          for (const { isBad, patient, values } of writes) {
            const { id } = patients[patient] as { id: string };
            const { status } = await (isBad ? bad : good).client.send(patientPath(id), {
              method: 'PATCH',
              headers: { 'content-type': 'application/merge-patch+json' },
              body: JSON.stringify(values),
            });
            expect(status).toBe(200);
            if (!isBad) for (const [name, value] of Object.entries(values)) model[patient]?.set(name, value);
          }
          const ids = patients.map(({ id }) => id);
          expect((await undone('apply', ids, ...ofBad(), ...from)).code).toBe(0);
          for (const [index, id] of ids.entries()) {
            const record = await read(patientPath(id));
            for (const name of fields) expect(record[name] ?? null).toBe(model[index]?.get(name) ?? null);
          }
        }),
        { numRuns: 15 },
      );
    },
    LONG_MS,
  );

  test('a record that cannot be read is blocked, and all others are undone', async () => {
    const { id: keyId, key } = await service.createKey('clinic');
    const [unread, other] = [samples.patient(), samples.patient()];
    for (const patient of [unread, other]) {
      await good.client.post('/integration/patients', { ...patient, city: 'Omaha' });
      await service.as(key).post('/integration/patients', { ...patient, city: 'Lincoln' });
    }
    const stream = recordStream(service.workspaceId('clinic'), 'patient', unread.id);
    const [last] = await service.eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    const { type, data, metadata } = last as RecordedEvent;
    const ofNewerVersion = { id: uuidv7(), type, data, metadata: { ...metadata, schemaVersion: 99 } };
    await service.eventLog.append(stream, ofNewerVersion, 'any');
    const ids = [unread.id, other.id];
    const changed = await runInWorkspace(service, 'changes', '--principal', keyId, '--json');
    expect([changed.code, changed.stderr]).toEqual([
      1,
      `patient ${unread.id} has an event that cannot be read.\n`,
    ]);
    expect(JSON.parse(changed.stdout)).toMatchObject([
      { id: unread.id, unreadable: true, fields: [] },
      { id: other.id, unreadable: false, fields: [{ field: 'city' }] },
    ]);
    const appended = await appendedBy(service, async () => {
      const { code, stderr, records } = await undone('apply', ids, '--key', keyId);
      expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringMatching(REQUEST) });
      expect(records).toMatchObject([
        { id: unread.id, action: 'blocked', problem: 'It has an event that cannot be read.', fields: [] },
        { id: other.id, action: 'revert', version: 3 },
      ]);
    });
    expect(appended.filter((event) => event.includes('.patient-'))).toEqual([
      `clinic.patient-${other.id}: PatientUpserted`,
    ]);
    expect(await read(patientPath(other.id))).toMatchObject({ city: 'Omaha' });
  });
});
