import { afterAll, beforeAll, expect, test } from 'vitest';
import { patient as patientKind } from '../../src/domain/records/kinds/patient.ts';
import { addHold, releaseHold } from '../../src/modules/erasure/holds.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;
const operatorCaller = { principal: { type: 'operator', id: 'test' }, requestId: 'test' } as const;

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
    // Encounters are in the order of a patient's life, not in that of their changes.
    await send('encounters', { id: first.id, patient_id: patient.id, status: 'changed last' });
    // A page that lags is asked for again, and each time is in the audit trail.
    for (const list of ['/integration/encounters', documentsPath(first.id)]) {
      expect((await service.get(list)).status).toBe(200);
    }
    const path = pathOf('patients', patient.id);
    const overview = await shown(path);
    const encounters = await shown(`${path}/encounters`);
    const documents = await shown(`${path}/documents`);
    const links: [text: string, paths: string[]][] = [
      [
        overview.text,
        [
          pathOf('payers', payer.id),
          ...['timeline', 'encounters', 'documents', 'disclosures', 'copy'].map((tab) => `${path}/${tab}`),
          `${path}/fields/primary_insurance.policy_number`,
        ],
      ],
      [
        encounters.text,
        [
          pathOf('encounters', first.id),
          pathOf('encounters', second.id),
          pathOf('providers', provider.id),
          pathOf('facilities', facility.id),
        ],
      ],
      [documents.text, [kept, removed].map((one) => `${pathOf('encounters', first.id)}/documents/${one}`)],
    ];
    for (const [text, paths] of links) {
      for (const one of paths) expect(text).toContain(`href="/dashboard${one}"`);
      expect(text).toContain(`<h1>Patient <bdi>${patient.first_name} ${patient.last_name}</bdi></h1>`);
      for (const id of [other.first.id, other.kept, other.payer.id]) expect(text).not.toContain(id);
    }
    expect(overview.text).toContain(payer.name);
    for (const name of [provider.last_name, facility.name]) expect(encounters.text).toContain(name);
    expect(documents.text).toMatch(
      new RegExp(`>${removed}<.*?>removed</span>.*?by <bdi>Test key</bdi>`, 's'),
    );
    expect(encounters.text.indexOf(second.id)).toBeLessThan(encounters.text.indexOf(first.id));
    expect(encounters.text).toContain('Coverage and dates of service');
    const read = ['record.read', 'patient', patient.id];
    expect(overview.accesses).toEqual([read, ['record.list', 'payer']]);
    expect(encounters.accesses).toHaveLength(4);
    expect(encounters.accesses).toEqual(
      expect.arrayContaining([
        read,
        ['record.list', 'encounter'],
        ['record.list', 'provider'],
        ['record.list', 'facility'],
      ]),
    );
    expect(documents.accesses).toEqual([
      read,
      ['document.list', 'document', first.id],
      ['record.list', 'encounter'],
      ['record.list', 'patient'],
    ]);
    const encounterPage = await shown(pathOf('encounters', first.id));
    const title = `Encounter of <bdi>${patient.first_name} ${patient.last_name}</bdi>`;
    expect(encounterPage.text).toContain(`<h1>${title}`);
    expect(encounterPage.accesses).toContainEqual(['record.list', 'patient']);
    const ofEncounter = await shown(`${pathOf('encounters', first.id)}/documents`);
    expect(ofEncounter.text).toMatch(new RegExp(`${kept}.*Removed documents.*${removed}`, 's'));
    expect(ofEncounter.accesses).toEqual(
      expect.arrayContaining([
        ['record.read', 'encounter', first.id],
        ['document.list', 'document', first.id],
      ]),
    );
  });

  test('a copy for the patient is downloaded, and is a disclosure to whom it is handed', async () => {
    const { patient } = await sendPatient();
    const path = `${pathOf('patients', patient.id)}/copy`;
    expect((await shown(path)).accesses).toEqual([['record.list', 'patient']]);
    const accesses = await accessesBy(service, async () => {
      const { status, headers, text } = await visitor.post(path, { recipient: ' The guardian ' });
      expect({ status, type: headers['content-type'], begin: text.slice(0, 2) }).toEqual({
        ...{ status: 200, type: 'application/zip', begin: 'PK' },
      });
      expect(text).toContain('manifest.json');
    });
    expect(accesses).toMatchObject([
      { action: 'record.copy', record_id: patient.id, disclosed_to: { recipient: 'The guardian' } },
    ]);
    expect((await visitor.get(`${pathOf('payers', 'any')}/copy`)).status).toBe(404);
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
    const now = (await shown(`${pathOf('patients', patient.id)}/encounters`)).text;
    expect(now).toContain(later.id);
    expect(now).not.toContain(second.id);
    const seen = new URLSearchParams({ kind: 'encounter', id: second.id, seen: 'yes', format: 'ndjson' });
    const trail = (await visitor.get(`${root}/audit/export?${seen.toString()}`)).text;
    expect(trail).toMatch(new RegExp(`"action":"record.list".*"shown_things":"[^"]*encounter/${second.id}`));
  });

  test('the timeline of a patient and all below it goes on from page to page, each version once', async () => {
    const { patient, first, second, removed } = await sendPatient();
    await sendPatient();
    for (let count = 0; count < 24; count += 1) {
      await send('encounters', { id: first.id, patient_id: patient.id, status: `step ${count}` });
    }
    const path = `${pathOf('patients', patient.id)}/timeline`;
    const { text, accesses } = await shown(path);
    const headings = (page: string) =>
      [...page.matchAll(/<h3>(?:<a [^>]*>)(.*?)<\/a><\/h3>/g)].map(([, heading = '']) =>
        heading.replaceAll(/<[^>]*>/g, ''),
      );
    const next = /href="\/dashboard([^"]*)" rel="next"/.exec(text)?.[1] as string;
    const older = await shown(next);
    expect([...headings(text), ...headings(older.text)]).toEqual([
      ...Array.from({ length: 24 }, (_, at) => expect.stringContaining(`${first.id}, version ${25 - at}`)),
      `Document ${removed}, version 2`,
      expect.stringMatching(/^Document .*\.pdf, version 1$/),
      expect.stringMatching(/^Document .*\.pdf, version 1$/),
      `Encounter Mar 14, 2026 ${second.id}, version 1`,
      expect.stringContaining(`${first.id}, version 1`),
      'Patient, version 1',
    ]);
    expect(headings(text)).toHaveLength(25);
    expect(text).toContain('Export these 30 changes as CSV');
    expect(older.text).not.toContain('rel="next"');
    expect(accesses).toEqual(
      expect.arrayContaining([
        ['record.read', 'patient', patient.id],
        ['record.history', 'encounter', first.id],
        ['document.history', 'document', first.id, removed],
      ]),
    );
    expect(older.accesses).toContainEqual(['record.history', 'patient', patient.id]);
  });

  test('a timeline has merges, billing, holds and erasures; it is narrowed to a period, a person and a subject, and is exported so', async () => {
    const { patient, first, second } = await sendPatient();
    const other = await sendPatient();
    await send('patients', { ...other.patient, merged_into: patient.id });
    const disclosure = {
      ...{ disclosed_at: '2026-03-12', means: 'telephone', description: phi('Date of the last visit') },
      recipient: phi('County registry'),
    };
    await send(`patients/${patient.id}/disclosures`, disclosure);
    await send(`patients/${other.patient.id}/disclosures`, {
      ...disclosure,
      recipient: phi('Somebody else'),
    });
    const { eventLog } = service;
    const caller = { workspace: service.workspaceId('clinic'), ...operatorCaller };
    const held = { entry: patientKind, id: patient.id };
    const hold = await addHold(eventLog, caller, held, 'Case 2031-17');
    await releaseHold(eventLog, caller, hold, 'Case closed');
    const claim = { claim_id: phi('claim') };
    const billed = await service.post(`/integration/encounters/${first.id}/billed`, claim);
    expect(billed.status).toBe(200);
    const denial = { source: '835', outcome: 'denied', adjustments: [{ group: 'CO', code: '29' }] };
    const outcome = `/integration/encounters/${first.id}/billed/${claim.claim_id}/outcome`;
    expect((await service.post(outcome, denial)).status).toBe(200);
    const readiness = `/integration/encounters/${first.id}/readiness`;
    const { rule } = (await service.get(readiness)).body.findings[0];
    const note = phi('The clinic asks');
    expect((await service.post(`${readiness}/answers`, { rule, answer: 'noted', note })).status).toBe(200);
    await visitor.get(`${pathOf('encounters', second.id)}/erase`);
    const form = { reason: 'Request 2026-120', record_id: second.id };
    expect((await visitor.post(`${pathOf('encounters', second.id)}/erase`, form)).status).toBe(303);
    const path = `${pathOf('patients', patient.id)}/timeline`;
    const of = async (query: Record<string, string>) =>
      (await shown(`${path}?${new URLSearchParams(query).toString()}`)).text;
    const survivor = `<ins><a href="[^"]+/patients/${patient.id}" title="${patient.first_name} ${patient.last_name}, `;
    expect(await of({ what: 'merge' })).toMatch(new RegExp(`>1 change<.*Merged into.*${survivor}`, 's'));
    expect(await of({ what: 'billing' })).toMatch(
      new RegExp(`finding noted<.*${note}.*claim denied<.*CO-29.*billed<.*${claim.claim_id}`, 's'),
    );
    const holds = await of({ what: 'hold' });
    expect(holds).toMatch(/>2 changes<.*released<.*Case closed.*placed<.*Case 2031-17/s);
    const stated = await shown(`${path}?what=disclosure`);
    expect(stated.text).toMatch(
      new RegExp(
        `>1 change<.*${disclosure.recipient}.*Telephone, .*>Mar 12, 2026<.*${disclosure.description}`,
        's',
      ),
    );
    expect(stated.accesses).toContainEqual(['record.disclosures', 'patient', patient.id]);
    const { visitor: biller } = await signedIn(service, 'billing');
    const unseen = await biller.get(`${path}?what=disclosure`);
    expect([unseen.status, unseen.text.includes('>0 changes<')]).toEqual([200, true]);
    const disclosuresFile = (await shown(`${path}/export?what=disclosure`)).text;
    expect(disclosuresFile).toContain(`${disclosure.description} (${disclosure.recipient})`);
    expect(await of({ what: 'erasure' })).toMatch(new RegExp(`${second.id}.*erased<.*Request 2026-120`, 's'));
    expect(await of({ who: 'test KEY', what: 'hold' })).toContain('No changes match.');
    expect(await of({ to: '2000-01-01' })).toContain('>0 changes<');
    const refused = await shown(`${path}?from=yesterday`, 400);
    expect(refused.text).toContain('id="from-error"');
    const paper = await shown(`${path}/print?what=erasure`);
    expect(paper.text).toContain(second.id);
    expect(paper.accesses).toContainEqual(['record.history', 'encounter', second.id]);
    const file = await shown(`${path}/export?what=hold&from=2000-01-01`);
    const name = `${patient.first_name} ${patient.last_name}`;
    expect(file.text).toMatch(
      new RegExp(`^Report,Changes\r\nPatient,${name}\r\n.*Period,from 2000-01-01 until now`, 's'),
    );
    expect(file.text.match(/,Case (?:closed|2031-17),/g)).toHaveLength(2);
    expect(file.accesses).toContainEqual(['hold.list', 'patient', patient.id]);
  });

  test('the history of a field names the versions that changed it, and an earlier version leads to what it changed', async () => {
    const { payer, patient } = await sendPatient();
    const [policy, after] = [patient.primary_insurance.policy_number, phi('W9876')];
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
    expect(text).toMatch(new RegExp(`<del><bdi>${policy}</bdi></del>.*<ins><bdi>${after}</bdi></ins>`, 's'));
    expect(accesses).toEqual([['record.history', 'patient', id]]);
    const cities = (await shown(`${path}/fields/city`)).text;
    const older = /href="\/dashboard([^"]*)" rel="next"/.exec(cities)?.[1] as string;
    expect((await shown(older)).text).toContain('>City 2<');
    expect((await shown(`${path}/fields/zip_code`)).text).toContain('No version changed it.');
    expect((await shown(`${path}/fields/nothing`, 404)).accesses).toEqual([]);

    const earlier = await shown(`${path}?version=12`);
    expect(earlier.text).toContain(`href="/dashboard${path}/compare?from=11&amp;to=12"`);
    const missing = (await shown(`${path}?version=5000`)).text;
    expect(missing).toContain('There is no version 5000.');
    const before = await shown(`${path}?as_of=2000-01-01`, 404);
    expect(before.text).toContain('The patient did not exist at that time.');
    expect(before.text).not.toContain(patient.last_name);
    expect(before.accesses).toEqual([]);
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
      // Suggested by the filters.
      ['record.list', 'provider'],
      ['record.list', 'facility'],
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
    const { text } = await shown(`${path}/encounters`);
    expect(text).toContain(second.id);
    expect(text).not.toContain(first.id);
    const timeline = (await shown(`${path}/timeline`)).text;
    expect(timeline).toContain(second.id);
    expect(timeline.split(`<code dir="auto">${first.id}</code>`)).toHaveLength(2);
    expect(timeline).toContain('All earlier versions were permanently erased');
    await erase('patients', patient.id, { with_encounters: 'yes' });
    for (const page of [path, `${path}/timeline`, `${path}/encounters`, `${path}/fields/city`]) {
      const { text, accesses } = await shown(page, 410);
      expect(text).not.toContain(patient.last_name);
      expect(accesses).toContainEqual(['record.history', 'patient', patient.id]);
    }
  });
});
