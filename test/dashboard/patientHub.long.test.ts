import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

onEmbeddedEngines((start) => {
  let service: TestService;
  let visitor: BrowserlessSession;
  let root: string;
  beforeAll(async () => {
    service = await start();
    root = `/workspaces/${service.workspaceId('clinic')}`;
    ({ visitor } = await signedIn(service, 'admin'));
  }, LONG_MS);
  afterAll(() => service.stop());

  const send = async (path: string, body: object) =>
    expect((await service.post(`/integration/${path}`, body)).status).toBe(200);
  const pathOf = (plural: string, id: string) => `${root}/records/${plural}/${encodeURIComponent(id)}`;
  /** A page, and what the audit trail tells of it: actions, kinds and ids. */
  const shown = async (path: string, status = 200) => {
    let text = '';
    const accesses = await accessesBy(service, async () => {
      const answer = await visitor.get(path);
      expect([path, answer.status]).toEqual([path, status]);
      text = answer.text;
    });
    return {
      text,
      accesses: accesses.map(({ action, kind, record_id, document_id }) =>
        [action, kind, record_id, document_id].filter((part) => part !== undefined),
      ),
    };
  };

  /** A patient with a payer and two encounters; the first has two documents, one of them removed. */
  async function sendPatient() {
    const [payer, provider, facility] = [samples.payer(), samples.provider(), samples.facility()];
    await send('payers', payer);
    await send('providers', provider);
    await send('facilities', facility);
    const insurance = { payer_id: payer.id, policy_number: phi('W1234') };
    const patient = { ...samples.patient(), primary_insurance: insurance };
    await send('patients', patient);
    const first = { ...samples.encounter(patient.id), provider_id: provider.id, facility_id: facility.id };
    const second = { ...samples.encounter(patient.id), date_of_service: '2026-03-14', is_completed: true };
    await send('encounters', first);
    await send('encounters', second);
    const [kept, removed] = [phi('kept'), phi('removed')];
    for (const document_id of [kept, removed]) {
      const form = documentForm({ document_id });
      expect((await service.upload(documentsPath(first.id), form)).status).toBe(200);
    }
    expect((await service.delete(documentsPath(first.id, removed))).status).toBe(200);
    return { payer, provider, facility, patient, first, second, kept, removed };
  }

  test('the page of a patient leads to all that is of it, and shows nothing of others', async () => {
    const { payer, provider, facility, patient, first, second, kept, removed } = await sendPatient();
    const other = await sendPatient();
    // A page that lags is asked for again, and each time is in the audit trail.
    for (const list of ['/integration/encounters', documentsPath(first.id)]) {
      expect((await service.get(list)).status).toBe(200);
    }
    const { text, accesses } = await shown(pathOf('patients', patient.id));
    for (const path of [
      pathOf('payers', payer.id),
      pathOf('encounters', first.id),
      pathOf('encounters', second.id),
      pathOf('providers', provider.id),
      pathOf('facilities', facility.id),
      `${pathOf('encounters', first.id)}/documents/${kept}`,
      `${pathOf('encounters', first.id)}/documents/${removed}`,
      `${pathOf('patients', patient.id)}/disclosures`,
      `${pathOf('patients', patient.id)}/timeline`,
      `${pathOf('patients', patient.id)}/fields/primary_insurance.policy_number`,
    ]) {
      expect(text).toContain(`href="/dashboard${path}"`);
    }
    for (const name of [payer.name, provider.last_name, facility.name]) expect(text).toContain(name);
    expect(text).toMatch(new RegExp(`>${removed}<.*?>removed</span>.*?by <strong>Test key</strong>`, 's'));
    expect(text.indexOf(second.id)).toBeLessThan(text.indexOf(first.id));
    for (const id of [other.first.id, other.kept, other.payer.id]) expect(text).not.toContain(id);
    expect(accesses).toHaveLength(7);
    expect(accesses).toEqual(
      expect.arrayContaining([
        ['record.read', 'patient', patient.id],
        ['record.history', 'patient', patient.id],
        ['record.list', 'encounter'],
        ['document.list', 'document', first.id],
        ['record.list', 'payer'],
        ['record.list', 'provider'],
        ['record.list', 'facility'],
      ]),
    );
    const encounterPage = await shown(pathOf('encounters', first.id));
    expect(encounterPage.text).toContain(`${patient.first_name} ${patient.last_name}`);
    expect(encounterPage.text).toContain(removed);
    expect(encounterPage.accesses).toContainEqual(['record.list', 'patient']);
    const documents = await shown(`${pathOf('encounters', first.id)}/documents`);
    expect(documents.text).toMatch(new RegExp(`${kept}.*Removed documents.*${removed}`, 's'));
    expect(documents.accesses).toEqual([['document.list', 'document', first.id]]);
  });

  test('who has seen a patient, its encounters or documents is told at once', async () => {
    const { patient, first, second } = await sendPatient();
    const reader = await service.createKey('clinic', ['read']);
    const blind = await service.createKey('clinic', ['read']);
    await service.as(reader.key).get(`/integration/encounters/${encodeURIComponent(second.id)}`);
    await service.as(reader.key).get(documentsPath(first.id));
    const other = await sendPatient();
    await service.as(blind.key).get(`/integration/encounters/${encodeURIComponent(other.first.id)}`);
    const query = new URLSearchParams({ kind: 'patient', id: patient.id, seen: 'all' });
    expect((await visitor.get(pathOf('patients', patient.id))).text).toContain(
      `${root}/audit?${query.toString().replaceAll('&', '&amp;')}`,
    );
    const lines = async (seen: string) => {
      query.set('seen', seen);
      return (await visitor.get(`${root}/audit/export?${query.toString()}&format=ndjson`)).text;
    };
    const all = await lines('all');
    expect(all.split(reader.id)).toHaveLength(3);
    expect(all).not.toContain(blind.id);
    expect(await lines('yes')).not.toContain(reader.id);
  });

  test('a patient at a time has the encounters that were the patient’s then, as they were, and who saw them so is told', async () => {
    const { patient, first, second } = await sendPatient();
    const gone = samples.encounter(patient.id);
    await send('encounters', gone);
    const then = new Date().toISOString();
    await eventually(() => expect(Date.now()).toBeGreaterThan(Date.parse(then)));
    const other = await sendPatient();
    const later = samples.encounter(patient.id);
    await send('encounters', later);
    await send('encounters', { ...first, status: 'finished' });
    await send('encounters', { ...second, patient_id: other.patient.id });
    await visitor.get(`${pathOf('encounters', gone.id)}/erase`);
    const form = { reason: 'Request 2026-119', record_id: gone.id };
    expect((await visitor.post(`${pathOf('encounters', gone.id)}/erase`, form)).status).toBe(303);

    const asOf = `?as_of=${encodeURIComponent(then)}`;
    const { text, accesses } = await shown(`${pathOf('patients', patient.id)}${asOf}`);
    for (const { id } of [first, second])
      expect(text).toContain(`href="/dashboard${pathOf('encounters', id)}${asOf}"`);
    for (const { id } of [gone, later, other.first]) expect(text).not.toContain(id);
    expect(text).not.toContain('finished');
    expect(accesses).toContainEqual(['record.list', 'encounter']);
    const now = (await shown(pathOf('patients', patient.id))).text;
    expect(now).toContain(later.id);
    expect(now).not.toContain(second.id);
    const seen = new URLSearchParams({ kind: 'encounter', id: second.id, seen: 'yes', format: 'ndjson' });
    const trail = (await visitor.get(`${root}/audit/export?${seen.toString()}`)).text;
    expect(trail).toMatch(new RegExp(`"action":"record.list".*"shown_things":"[^"]*encounter/${second.id}`));
  });

  test('the timeline of a patient and all below it goes on from page to page, each version once', async () => {
    const { patient, first, second, kept, removed } = await sendPatient();
    await sendPatient();
    for (let count = 0; count < 18; count += 1) {
      await send('encounters', { id: first.id, patient_id: patient.id, status: `step ${count}` });
    }
    const { text, accesses } = await shown(`${pathOf('patients', patient.id)}/timeline`);
    const headings = (page: string) =>
      [...page.matchAll(/<h2><a [^>]*>([^<]*), version (\d+)<\/a><\/h2>/g)].map(
        ([, name, version]) => `${name} ${version}`,
      );
    const next = /href="\/dashboard([^"]*)" rel="next"/.exec(text)?.[1] as string;
    const older = await shown(next);
    expect([...headings(text), ...headings(older.text)]).toEqual([
      ...Array.from({ length: 18 }, (_, at) => `Encounter ${first.id} ${19 - at}`),
      `Document ${removed} 2`,
      `Document ${removed} 1`,
      `Document ${kept} 1`,
      `Encounter ${second.id} 1`,
      `Encounter ${first.id} 1`,
      `Patient ${patient.id} 1`,
    ]);
    expect(headings(text)).toHaveLength(20);
    expect(older.text).not.toContain('rel="next"');
    expect(accesses).toHaveLength(2);
    expect(accesses).toEqual(
      expect.arrayContaining([
        ['record.history', 'encounter', first.id],
        ['document.history', 'document', first.id, removed],
      ]),
    );
    expect(older.accesses).toHaveLength(4);
  });

  test('the history of a field names the versions that changed it, and a version is shown amid its neighbours', async () => {
    const { payer, patient } = await sendPatient();
    const [before, after] = [patient.primary_insurance.policy_number, phi('W9876')];
    const { first_name, last_name, date_of_birth, id } = patient;
    const base = { id, first_name, last_name, date_of_birth };
    for (let count = 2; count <= 30; count += 1) await send('patients', { ...base, city: `City ${count}` });
    const insurance = { payer_id: payer.id, policy_number: after };
    await send('patients', { ...base, primary_insurance: insurance });
    const path = pathOf('patients', id);
    const { text, accesses } = await shown(`${path}/fields/primary_insurance.policy_number`);
    expect([...text.matchAll(/aria-label="Version (\d+)"/g)].map(([, version]) => version)).toEqual([
      '31',
      '1',
    ]);
    expect(text).toMatch(new RegExp(`<del>${before}</del>.*<ins>${after}</ins>`, 's'));
    expect(accesses).toEqual([['record.history', 'patient', id]]);
    const cities = (await shown(`${path}/fields/city`)).text;
    const older = /href="\/dashboard([^"]*)" rel="next"/.exec(cities)?.[1] as string;
    expect((await shown(older)).text).toContain('>City 2<');
    expect((await shown(`${path}/fields/zip_code`)).text).toContain('No version changed it.');
    expect((await shown(`${path}/fields/nothing`, 404)).accesses).toEqual([]);

    const versions = (page: string) => [...page.matchAll(/>Version (\d+)<\/a><\/h3>/g)].map(([, one]) => one);
    const amid = await shown(`${path}?version=12`);
    expect(versions(amid.text)[0]).toBe('21');
    expect(versions(amid.text)).toContain('12');
    const missing = (await shown(`${path}?version=5000`)).text;
    expect(missing).toContain('There is no version 5000.');
    expect(versions(missing)[0]).toBe('31');
  });

  test('a list is told by its address: filter, order and page', async () => {
    const { patient, first, second } = await sendPatient();
    const other = await sendPatient();
    const of = (query: Record<string, string>) =>
      `${root}/records?${new URLSearchParams({ kind: 'encounters', ...query }).toString()}`;
    const filter = { patient_id: patient.id, limit: '1' };
    const newest = await shown(of(filter));
    expect(newest.text).toContain(second.id);
    expect(newest.text).not.toContain(first.id);
    expect(newest.text).toContain(`${patient.first_name} ${patient.last_name}`);
    expect(newest.accesses).toEqual([
      ['record.list', 'encounter'],
      ['record.list', 'patient'],
    ]);
    const next = /href="\/dashboard([^"#]*)#list" rel="next"/.exec(newest.text)?.[1] as string;
    const last = (await shown(next.replaceAll('&amp;', '&'))).text;
    expect(last).toContain(first.id);
    expect(last).not.toContain('rel="next"');
    expect(last).not.toContain(other.first.id);
    expect((await shown(of({ ...filter, sort: 'created_at' }))).text).toContain(first.id);
    const refused = await shown(of({ date_of_service_from: 'yesterday' }), 400);
    expect(refused.text).toContain('id="date_of_service_from-error"');
    expect(refused.accesses).toEqual([]);
  });

  test('what was erased is gone from every page of the patient, and none of them breaks', async () => {
    const { patient, first, second } = await sendPatient();
    const erase = async (plural: string, id: string, more: Record<string, string> = {}) => {
      const form = { reason: 'Request 2026-118', record_id: id, ...more };
      expect((await visitor.post(`${pathOf(plural, id)}/erase`, form)).status).toBe(303);
    };
    await visitor.get(`${pathOf('encounters', first.id)}/erase`);
    await erase('encounters', first.id);
    const path = pathOf('patients', patient.id);
    for (const page of [path, `${path}/timeline`]) {
      const { text } = await shown(page);
      expect(text).toContain(second.id);
      expect(text).not.toContain(first.id);
    }
    await erase('patients', patient.id, { with_encounters: 'yes' });
    for (const page of [path, `${path}/timeline`, `${path}/fields/city`]) {
      const { text, accesses } = await shown(page, 410);
      expect(text).not.toContain(patient.last_name);
      expect(accesses).toEqual([['record.history', 'patient', patient.id]]);
    }
  });
});
