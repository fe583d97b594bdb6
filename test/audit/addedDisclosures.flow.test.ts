import { afterAll, beforeAll, expect, test } from 'vitest';
import { runCli, storesOf } from '../support/cli.ts';
import { expectDocumented, fetchDocument } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import { documentForm, documentsPath, samples } from '../support/samples.ts';
import { appendedBy, newEvents, readAll, sharedService, type TestService } from '../support/service.ts';

const LONG_MS = 60_000;

let service: TestService;
const payer = samples.payer();
const patient = {
  ...samples.patient(),
  phone: '+1 402 555 0100',
  primary_insurance: { payer_id: payer.id, policy_number: phi('policy') },
};
const encounter = phi('encounter');
const form = documentForm({ category: 'lab_results' });
beforeAll(async () => {
  service = await sharedService();
  const { key } = await service.createKey('clinic', ['write', 'read', 'events', 'audit']);
  service = Object.assign(service, { key });
  await service.post('/integration/payers', payer);
  await service.post('/integration/patients', patient);
  const visit = { id: encounter, patient_id: patient.id, date_of_service: '2026-05-05T09:30:00Z' };
  await service.post('/integration/encounters', visit);
  await service.upload(documentsPath(encounter), form);
}, LONG_MS);
afterAll(() => service.stop());

const pathOf = (id: string) => `/integration/patients/${encodeURIComponent(id)}/disclosures`;
const path = pathOf(patient.id);
const stream = () => `${service.workspaceId('clinic')}.disclosures-${encodeURIComponent(patient.id)}`;
const report = async (query = '') => {
  const { status, body } = await service.get(`${path}${query}`);
  expect(status).toBe(200);
  return body;
};
const cli = (...args: string[]) => {
  const env = { ...storesOf(service.config), DATA_DIR: service.config.dataDir };
  return runCli([...args, '--workspace', service.workspaceId('clinic')], { env });
};
const fax = {
  ...{ disclosed_at: '2026-03-14', means: 'fax', description: phi('Immunization record') },
  ...{ recipient: phi('Registry'), recipient_address: phi('Capitol Ave'), purpose: 'other' },
  purpose_statement: phi('Required by state law'),
};

test('an accounting says in words what was disclosed, whose it is, and by which organization', async () => {
  await service.keys.setOrganization(service.workspaceId('clinic'), 'North Clinic');
  await service.get(path.replace('/disclosures', ''));
  await service.get(`/integration/encounters/${encodeURIComponent(encounter)}`);
  await service.get(documentsPath(encounter, form.get('document_id') as string));
  await service.get('/events?kinds=patient,encounter,document');
  const { key } = await service.createKey('clinic', ['events:limited']);
  await service.as(key).get('/events?kinds=patient,encounter,document');
  const answer = await service.get(`${path}?limit=1000`);
  expectDocumented(await fetchDocument(service), 'getPatientDisclosures', answer);
  const { body } = answer;
  expect(body.patient).toEqual({
    ...{ id: patient.id, name: `${patient.first_name} ${patient.last_name}` },
    date_of_birth: patient.date_of_birth,
  });
  const words = new Map<string, string[]>();
  for (const { action, description } of body.items)
    words.set(action, [...(words.get(action) ?? []), description]);
  const content = /^name, date of birth, .*contact.*, insurance/;
  expect(words.get('record.read')).toEqual(['visit of May 5, 2026', expect.stringMatching(content)]);
  expect(words.get('document.download')).toEqual(['document: lab results']);
  const [limited, streamed] = words.get('events.read') ?? [];
  expect(limited).toBe('limited data set: patient record, visit, document');
  expect(streamed).toMatch(/^name, .*; visit of May 5, 2026; document: lab results$/);
  expect(body.items.map(({ description }: { description: string }) => description).join()).not.toContain(
    patient.phone,
  );
  const { code, stdout } = await cli(
    ...['disclosures', 'list', 'patient', patient.id, '--accounting', '--format', 'html'],
  );
  expect(code).toBe(0);
  for (const text of [
    'North Clinic',
    String(patient.last_name),
    patient.date_of_birth,
    'visit of May 5, 2026',
  ])
    expect(stdout).toContain(text);
});

test('a disclosure by fax is an event, and listed by its own date', async () => {
  const openapi = await fetchDocument(service);
  const key = { 'idempotency-key': phi('key') };
  const appended = await appendedBy(service, async () => {
    const first = await service.post(path, fax, key);
    expectDocumented(openapi, 'addPatientDisclosure', first);
    expect((await service.post(path, fax, key)).body).toEqual(first.body);
    const refused = [
      await service.post(path, { ...fax, purpose_statement: undefined }),
      await service.post(path, { ...fax, disclosed_at: '2999-01-01' }),
      await service.post(path, { ...fax, means: 'pigeon' }),
      await service.post(pathOf('nobody'), fax),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 400, 400, 404]);
  });
  expect(appended).toEqual([`${stream().replace(service.workspaceId('clinic'), 'clinic')}: DisclosureAdded`]);
  const { items } = await report('?limit=1000');
  expect(items.at(-1)).toMatchObject({
    ...fax,
    action: 'DisclosureAdded',
    status: 'accountable',
    means: 'fax',
  });
  expect((await report('?from=2026-03-14&to=2026-03-15')).items).toMatchObject([fax]);
  expect((await report('?to=2026-03-14')).items).toEqual([]);
  const pages: unknown[] = [];
  for (let token = ''; ; ) {
    const page = await report(`?limit=1${token}`);
    pages.push(...page.items.filter(({ action }: { action: string }) => action === 'DisclosureAdded'));
    if (page.next_page_token === null) break;
    token = `&page_token=${page.next_page_token}`;
  }
  expect(pages).toMatchObject([fax]);
});

test('a purpose that was not given is stated later, once for the entry, and who did so is shown with it', async () => {
  const open = async () =>
    (await report('?limit=1000')).items.find(({ action }: { action: string }) => action === 'record.read');
  const before = await open();
  expect(before).toMatchObject({ status: 'purpose_not_given', purpose: null, purpose_stated: null });
  const purposePath = `${path}/${before.event_id}/purpose`;
  const [stated] = await newEvents(service, async () => {
    const answer = await service.post(purposePath, { purpose: 'treatment' });
    expectDocumented(await fetchDocument(service), 'stateDisclosurePurpose', answer);
    expect(
      (await service.post(`${path}/${crypto.randomUUID()}/purpose`, { purpose: 'payment' })).status,
    ).toBe(404);
    expect((await service.post(purposePath, { purpose: 'other' })).status).toBe(400);
  });
  expect(stated).toMatchObject({ type: 'DisclosurePurposeStated', data: { event_id: before.event_id } });
  const after = await open();
  expect(after).toMatchObject({
    ...{
      status: 'exempt',
      purpose: 'treatment',
      event_id: before.event_id,
      disclosed_at: before.disclosed_at,
    },
    purpose_stated: { event_id: stated?.id, principal: { type: 'api_key' } },
  });
  const added = (await report('?limit=1000')).items.at(-1);
  const given = await service.post(`${path}/${added.event_id}/purpose`, { purpose: 'payment' });
  expect(given).toMatchObject({ status: 409, body: { code: 'conflict' } });
  const line = ['disclosures', 'set-purpose', 'patient', patient.id, before.event_id];
  expect((await cli(...line, '--purpose', 'payment')).code).toBe(0);
  expect(await open()).toMatchObject({
    purpose: 'payment',
    purpose_stated: { principal: { type: 'operator' } },
  });
});

test('keys without the permissions are refused', async () => {
  const [reader, auditor] = [
    await service.createKey('clinic', ['read']),
    await service.createKey('clinic', ['audit']),
  ];
  for (const { key } of [reader, auditor]) {
    expect((await service.as(key).get(path)).status).toBe(403);
    expect((await service.as(key).post(path, fax)).status).toBe(403);
  }
});

test(
  'what was stated is erased with the patient, and a new patient with the id begins without it',
  async () => {
    const erase = [
      'records',
      'erase',
      'patient',
      patient.id,
      '--with-encounters',
      '--reason',
      'Request 2026-117',
    ];
    expect(await cli(...erase)).toMatchObject({ code: 0 });
    const log = JSON.stringify(await readAll(service.eventLog));
    for (const text of [fax.description, fax.recipient, fax.purpose_statement])
      expect(log).not.toContain(text);
    const { items, patient: head } = await report('?limit=1000');
    expect(head).toEqual({ id: patient.id, name: null, date_of_birth: null });
    expect(items.some(({ action }: { action: string }) => action === 'DisclosureAdded')).toBe(false);
    expect(items.map(({ purpose_stated }: { purpose_stated: unknown }) => purpose_stated)).not.toContainEqual(
      expect.anything(),
    );
    expect(items).toContainEqual(expect.objectContaining({ description: 'visit' }));
    expect((await service.post(path, fax)).status).toBe(410);
    const trail = await cli('audit', 'list', '--kind', 'patient', '--id', patient.id, '--format', 'csv');
    expect(trail.stdout).toMatch(/DisclosureAdded/);
    await service.post('/integration/patients', patient);
    expect((await service.post(path, { ...fax, recipient: phi('Court') })).status).toBe(200);
    const again = (await report('?limit=1000')).items;
    expect(again.filter(({ action }: { action: string }) => action === 'DisclosureAdded')).toHaveLength(1);
  },
  LONG_MS,
);
