import { afterAll, beforeAll, expect, test } from 'vitest';
import type { JsonObject } from '../../src/domain/events/event.ts';
import { hl7Message } from '../integrations/hl7Messages.ts';
import { runCli, storesOf } from '../support/cli.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { bundle, fhirEncounter, fhirPatient, freshId, referTo, sendFhir } from '../support/fhir.ts';
import { billedPath, freshClaim, readiness, sendClaim, worklist } from '../support/readiness.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, changesBy, type TestService } from '../support/service.ts';

const noStreet = 'address_incomplete patient.address_line_1';

onEmbeddedEngines((start) => {
  let service: TestService;
  let visitor: BrowserlessSession;
  beforeAll(async () => {
    service = await start();
    ({ visitor } = await signedIn(service, 'compliance'));
  });
  afterAll(() => service.stop());

  const cli = async (...args: string[]) => {
    const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
    return runCli([...args, '--workspace', service.workspaceId('clinic')], { env });
  };
  const post = async (plural: string, body: object) => {
    const answer = await service.post(`/integration/${plural}`, body);
    expect(answer).toMatchObject({ status: 200 });
    return answer.body;
  };
  const read = async (plural: string, id: unknown) => service.get(`/integration/${plural}/${id}`);
  const merge = (id: unknown, into: unknown) =>
    service.patch(`/integration/patients/${id}`, { merged_into: into });
  async function patients(...names: string[]): Promise<string[]> {
    const all = names.map((name) => ({
      ...samples.patient(),
      id: freshId(name),
      primary_insurance: undefined,
    }));
    for (const one of all) await post('patients', one);
    return all.map(({ id }) => id);
  }
  /** A message of merges: of pairs of who ends and who survives. */
  async function sendMerge(...groups: [merged: string, into: string, name?: string][]) {
    const segments = groups.flatMap(([merged, into, name]): [string, Record<number, string>][] => [
      ['PID', { 3: into, ...(name && { 5: `${name}^Ada`, 7: '19840229' }) }],
      ['MRG', { 1: merged }],
    ]);
    const body = hl7Message('ADT^A40^ADT_A39', segments, { 10: freshId('C') });
    const headers = { 'content-type': 'application/hl7-v2' };
    const { text } = await service.send('/hl7/v2', { method: 'POST', body, headers });
    return text
      .split('\r')
      .flatMap((one) =>
        /^(MSA|ERR)/.test(one) ? [one.split('|')[1] || one.split('|')[3]?.slice(0, 3)] : [],
      );
  }

  test('a merge is an event of who ends; both stay readable, and who survives knows the other', async () => {
    const [merged = '', survivor = ''] = await patients('merged', 'survivor');
    const [event, ...others] = await changesBy(service, async () => {
      expect((await merge(merged, survivor)).status).toBe(200);
    });
    expect(event).toMatchObject({ type: 'PatientUpserted', data: { id: merged, merged_into: survivor } });
    expect(others).toEqual([]);
    expect((await read('patients', merged)).body.record).toMatchObject({ merged_into: survivor });
    expect((await read('patients', survivor)).body.record).not.toHaveProperty('merged_into');
    const history = (await service.get(`/integration/patients/${merged}/history`)).body.items;
    expect(history[0].changes).toEqual([expect.objectContaining({ field: 'merged_into', to: survivor })]);
    const listed = await service.get(`/integration/patients?merged_into=${survivor}`);
    expect(listed.body.items.map(({ id }: JsonObject) => id)).toEqual([merged]);
    // It is sent again, as EMRs do, and takes new encounters.
    await post('patients', {
      ...samples.patient(),
      id: merged,
      primary_insurance: undefined,
      phone: '+1 402 555 0111',
    });
    expect((await read('patients', merged)).body.record).toMatchObject({
      merged_into: survivor,
      phone: '+1 402 555 0111',
    });
    await post('encounters', { id: freshId('visit'), patient_id: merged });
    await merge(merged, null);
    expect((await read('patients', merged)).body.record).not.toHaveProperty('merged_into');
  });

  test('who survives must be there; a patient may not be merged into itself', async () => {
    const [one = ''] = await patients('one');
    const events = await appendedBy(service, async () => {
      expect(await merge(one, 'nobody')).toMatchObject({
        status: 400,
        body: {
          code: 'reference_not_found',
          details: [{ field: 'merged_into', kind: 'patient', id: 'nobody' }],
        },
      });
    });
    expect(events).toEqual([]);
    expect((await merge(one, one)).body.warnings).toEqual([
      { field: 'merged_into', message: 'names the patient itself, which has no effect' },
    ]);
  });

  test('a batch may merge patients who are made in it, in any order', async () => {
    const [one, other, third] = [freshId('one'), freshId('other'), freshId('third')];
    const patient = { ...samples.patient(), primary_insurance: undefined };
    const visit = freshId('visit');
    const lines = [
      { kind: 'encounter', record: { id: visit, patient_id: other } },
      { kind: 'patient', record: { ...patient, id: third, merged_into: other } },
      { kind: 'patient', record: { ...patient, id: other, merged_into: one } },
      { kind: 'patient', record: { ...patient, id: one } },
      { kind: 'patient', record: { ...patient, id: other, phone: '+1 402 555 0112' } },
    ];
    const { text } = await service.send('/integration/batch', {
      ...{ method: 'POST', headers: { 'content-type': 'application/x-ndjson' } },
      body: lines.map((line) => JSON.stringify(line)).join('\n'),
    });
    expect(JSON.parse(text.trim().split('\n').at(-1) as string)).toMatchObject({
      summary: { accepted: 5, refused: 0 },
    });
    expect((await read('patients', other)).body).toMatchObject({
      version: 2,
      record: { merged_into: one, phone: '+1 402 555 0112' },
    });
  });

  test('an encounter is billed with who survived, also over two merges, and its readiness follows each', async () => {
    const claim = freshClaim();
    delete claim.patient.address_line_1;
    await sendClaim(service, claim);
    expect((await readiness(service, claim)).found).toContain(noStreet);
    const [between = ''] = await patients('between');
    const survivor = freshId('survivor');
    await post('patients', { ...claim.patient, id: survivor, address_line_1: '12 Elm Street' });
    await merge(claim.patient.id, between);
    await merge(between, survivor);
    const ready = await readiness(service, claim);
    expect([ready.state, ready.found]).toEqual(['ready', []]);
    const onWorklist = async () => {
      const { items } = await worklist(service);
      return items.find(({ id }: { id: string }) => id === claim.encounter.id);
    };
    expect(await onWorklist()).toMatchObject({ state: 'ready', patient_id: claim.patient.id, findings: [] });
    // What changes of who survived changes the encounter's state.
    await service.patch(`/integration/patients/${survivor}`, { address_line_1: null });
    await eventually(async () =>
      expect(await onWorklist()).toMatchObject({
        findings: [{ rule: 'address_incomplete', record: { kind: 'patient', id: survivor } }],
      }),
    );
    await service.patch(`/integration/patients/${survivor}`, { address_line_1: '12 Elm Street' });
    const billed = await service.post(billedPath(claim), { claim_id: freshId('claim') });
    expect(billed.body.versions).toContainEqual(expect.objectContaining({ part: 'patient', id: survivor }));
    expect((await readiness(service, claim)).found).toEqual([]);
    await merge(between, null);
    const undone = await readiness(service, claim);
    expect(undone.found).toContain('changed_after_billing patient.merged_into');
    await merge(between, claim.patient.id);
    // In a circle nobody is merged.
    expect((await readiness(service, claim)).found).toContain(noStreet);
  });

  test('a merge after an encounter was billed is told by it', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    await service.post(billedPath(claim), { claim_id: freshId('claim') });
    const [survivor = ''] = await patients('survivor');
    await merge(claim.patient.id, survivor);
    const found = (await readiness(service, claim)).findings.find(
      ({ rule }) => rule === 'changed_after_billing',
    );
    expect(found).toMatchObject({
      field: 'merged_into',
      record: { id: claim.patient.id },
      billed_version: 1,
    });
  });

  test('the page of who survived shows the encounters of the other', async () => {
    const [merged = '', survivor = ''] = await patients('merged', 'survivor');
    const visit = freshId('visit');
    await post('encounters', { id: visit, patient_id: merged });
    await merge(merged, survivor);
    const page = (id: string, tab = '') =>
      visitor.get(`/workspaces/${service.workspaceId('clinic')}/records/patients/${id}${tab}`);
    expect((await page(survivor, '/encounters')).text).toContain(visit);
    expect((await page(survivor, '/encounters')).text).toContain(`/records/patients/${merged}"`);
    expect((await page(merged)).text).toContain(`/records/patients/${survivor}"`);
  });

  test('ADT A40 merges, for each MRG into the patient of the PID before it', async () => {
    const [a = '', b = '', c = ''] = await patients('a', 'b', 'c');
    const made = freshId('made');
    const events = await changesBy(service, async () => {
      expect(await sendMerge([a, b], [c, made, 'Rivera'])).toEqual(['AA']);
    });
    const told = events.map(({ type, data }) => [type, data.id, data.merged_into]);
    expect(told.toSorted()).toEqual(
      [
        ['PatientUpserted', a, b],
        ['PatientUpserted', c, made],
        // It takes over what is known of the former one, then has what the message says.
        ['PatientUpserted', made, undefined],
        ['PatientUpserted', made, undefined],
      ].toSorted(),
    );
    expect(events[0]?.metadata.source).toMatchObject({ id: 'default' });
    expect(await appendedBy(service, async () => expect(await sendMerge([a, b])).toEqual(['AA']))).toEqual(
      [],
    );
  });

  test('who ends and is not there is made by the survivor, so that encounters are taken', async () => {
    const [survivor = ''] = await patients('survivor');
    const unknown = freshId('unknown');
    expect(await sendMerge([unknown, survivor])).toEqual(['AA']);
    const { record } = (await read('patients', survivor)).body;
    const { first_name, last_name, date_of_birth } = record;
    expect((await read('patients', unknown)).body.record).toEqual({
      ...{ id: unknown, first_name, last_name, date_of_birth, country: 'US', merged_into: survivor },
    });
    await post('encounters', { id: freshId('visit'), patient_id: unknown });
  });

  test('who survives and is not there is made of who ends; of two who are not there nothing is', async () => {
    const [a = ''] = await patients('a');
    const { first_name, last_name, date_of_birth } = (await read('patients', a)).body.record;
    const made = freshId('made');
    const events = await changesBy(service, async () => expect(await sendMerge([a, made])).toEqual(['AA']));
    expect(events.map(({ data }) => data)).toEqual([
      { id: made, first_name, last_name, date_of_birth },
      { id: a, merged_into: made },
    ]);
    const refused = await appendedBy(service, async () => {
      expect(await sendMerge([freshId('nobody'), freshId('nobody')])).toEqual(['AE', '204']);
    });
    expect(refused).toEqual([]);
  });

  test('by FHIR, nobody survives whom the key may not write', async () => {
    const [a = ''] = await patients('a');
    const limited = service.as((await service.createKey('clinic', ['write:encounter'])).key);
    const refused = await appendedBy(service, async () => {
      const link = [{ type: 'replaced-by', other: { reference: `Patient/${freshId('made')}` } }];
      const sent = bundle('batch', { ...fhirPatient({ link }), id: a });
      const { status, body } = await sendFhir(limited, '/fhir', sent);
      expect([status, JSON.stringify(body).includes('403')]).toEqual([200, true]);
    });
    expect(refused).toEqual([]);
  });

  test('a patient is not merged into itself; a merge the other way ends the first one', async () => {
    const [a = '', b = ''] = await patients('a', 'b');
    const refused = await appendedBy(service, async () => {
      expect(await sendMerge([a, a])).toEqual(['AA', '204']);
    });
    expect(refused).toEqual([]);
    await sendMerge([a, b]);
    expect(await sendMerge([b, a])).toEqual(['AA']);
    expect((await read('patients', a)).body.record).not.toHaveProperty('merged_into');
    expect((await read('patients', b)).body.record).toMatchObject({ merged_into: a });
  });

  test('links of FHIR say the same', async () => {
    const link = (type: string, { id }: JsonObject) => ({
      link: [{ type, other: { reference: `Patient/${id}` } }],
    });
    const survivor = fhirPatient();
    const replaced = fhirPatient(link('replaced-by', survivor));
    const sent = bundle('transaction', fhirEncounter(referTo(replaced)), replaced, survivor);
    expect((await sendFhir(service, '/fhir', sent)).status).toBe(200);
    expect((await read('patients', replaced.id)).body.record).toMatchObject({ merged_into: survivor.id });
    const old = fhirPatient();
    await sendFhir(service, '/fhir/Patient', old);
    await sendFhir(service, '/fhir/Patient', { ...survivor, ...link('replaces', old) });
    expect((await read('patients', old.id)).body.record).toMatchObject({ merged_into: survivor.id });
  });

  test('disclosures and erasure of who survived take in the other, with its encounters', async () => {
    const [merged = '', survivor = '', error = ''] = await patients('merged', 'survivor', 'error');
    const visit = freshId('visit');
    await post('encounters', { id: visit, patient_id: merged });
    await merge(merged, survivor);
    await merge(error, survivor);
    await merge(error, null);
    await read('encounters', visit);
    await read('patients', error);
    const told = (await cli('disclosures', 'patient', survivor, '--format', 'json')).stdout;
    expect(told).toContain(visit);
    expect(told).not.toContain(error);
    const alone = await cli('records', 'erase', 'patient', survivor, '--reason', 'Asked');
    expect([alone.code, alone.stderr]).toEqual([1, expect.stringContaining('1 encounter and 1 patient')]);
    await cli('holds', 'create', 'patient', survivor, '--reason', 'Suit');
    const held = await cli('records', 'erase', 'patient', merged, '--with-encounters', '--reason', 'Asked');
    expect([held.code, held.stderr]).toEqual([1, expect.stringContaining('its patient is under legal hold')]);
    const [{ id: hold }] = JSON.parse((await cli('holds', 'list', '--json')).stdout);
    await cli('holds', 'release', hold, '--reason', 'Settled');
    expect(
      await cli('records', 'erase', 'patient', survivor, '--with-encounters', '--reason', 'Asked'),
    ).toMatchObject({
      code: 0,
      stderr: '',
    });
    for (const [plural, id] of [
      ['patients', survivor],
      ['patients', merged],
      ['encounters', visit],
    ] as const) {
      expect((await read(plural, id)).status).toBe(410);
    }
    expect((await read('patients', error)).status).toBe(200);
    expect((await cli('disclosures', 'patient', survivor, '--format', 'json')).stdout).toContain(visit);
  });
});
