import { afterAll, beforeAll, expect, test } from 'vitest';
import { hl7Message } from '../integrations/hl7Messages.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { changesBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let [admin, compliance] = [] as unknown as [BrowserlessSession, BrowserlessSession];
  let root: string;
  let key: string;
  beforeAll(async () => {
    service = await start();
    ({ id: key } = await service.createKey('clinic'));
    root = `/workspaces/${service.workspaceId('clinic')}/sources`;
    ({ visitor: admin } = await signedIn(service, 'admin'));
    ({ visitor: compliance } = await signedIn(service, 'compliance'));
    await admin.get(root);
  });
  afterAll(() => service.stop());

  const list = async (visitor = admin) => (await visitor.get(root)).text;
  /** Sends a form, and gives what it came to: the events, and the page that shows it again, if so. */
  async function send(path: string, form: Record<string, string>) {
    let [status, page] = [0, ''];
    const events = await changesBy(service, async () => {
      ({ status, text: page } = await admin.post(root + path, form));
    });
    const wrong = [...page.matchAll(/<small class="error" id="([\w.]+)-error">([^<]+)/g)];
    const messages = Object.fromEntries(wrong.map(([, field, message]) => [field, message]));
    return {
      status,
      page,
      messages,
      events: events.map(({ type, data, metadata }) => ({ type, data, metadata })),
    };
  }
  const lab = {
    ...{ id: 'lab', format: 'hl7v2', time_zone: 'America/Denver', retention_days: '30' },
    ...{
      patient_authority: 'HOSP',
      visit_authority: 'VISITS',
      'facility.id': 'main',
      'facility.name': 'Main',
    },
  };
  const configured = {
    ...{ id: 'lab', format: 'hl7v2', time_zone: 'America/Denver', retention_days: 30 },
    ...{ patient_authority: 'HOSP', visit_authority: 'VISITS', facility: { id: 'main', name: 'Main' } },
  };

  test('the choices of HL7 v2 are configured, and messages that are not used are counted by event', async () => {
    const choices = { visit_from: 'PID-18, PV1-19', insurance_sets: 'whole', others: 'accept' };
    const made = await send('/new', { id: 'engine', format: 'hl7v2', ...choices });
    expect(made).toMatchObject({
      status: 303,
      events: [{ data: { source: { ...choices, visit_from: ['PID-18', 'PV1-19'] } } }],
    });
    const edited = (await admin.get(`${root}/engine/edit`)).text;
    for (const text of ['value="PID-18, PV1-19"', 'value="whole" selected', 'value="accept" selected'])
      expect(edited).toContain(text);
    const arrive = async (kind: string) => {
      const sent = {
        method: 'POST',
        body: hl7Message(kind, []),
        headers: { 'content-type': 'application/hl7-v2' },
      };
      expect((await service.send('/hl7/v2', sent)).text).toContain('MSA|AA|');
    };
    await eventually(() => arrive('VXU^V04'));
    for (const kind of ['ORU^R01', 'ORU^R01', 'ORU^R03']) await arrive(kind);
    const page = await list();
    expect(page).toContain('Messages of engine that are not used');
    expect(page.replaceAll(/<[^>]+>/g, ' ')).toMatch(/ORU\^R01\s+2\s[\s\S]+ORU\^R03\s+1\s/);
    await send('/engine/remove', {});
  });

  test('an administrator configures a source, sees it in the list, and changes it whole', async () => {
    expect(await list()).toContain('Messages in FHIR and HL7 v2 with an API key that no source has');
    const made = await send('/new', { ...lab, key });
    expect(made).toMatchObject({
      status: 303,
      events: [
        {
          type: 'SourceConfigured',
          data: { source: { ...configured, key } },
          metadata: { principal: { type: 'user' } },
        },
      ],
    });
    const page = await list();
    for (const shown of [
      'America/Denver',
      `title="${key}"`,
      'HOSP',
      '<bdi>Main</bdi>',
      'title="main"',
      '30 days',
    ]) {
      expect(page).toContain(shown);
    }
    const form = (await admin.get(`${root}/lab/edit`)).text;
    expect(form).toContain('<option value="hl7v2" selected>');
    expect(form).toContain(`<option value="${key}" selected>`);
    expect(form).toContain('name="facility.name" type="text" value="Main"');
    const { id: _id, ...fields } = lab;
    const changed = await send('/lab/edit', { ...fields, key: '', time_zone: '', retention_days: '' });
    const { retention_days: _days, ...left } = configured;
    expect(changed).toMatchObject({
      status: 303,
      events: [{ type: 'SourceConfigured', data: { source: { ...left, time_zone: 'UTC' } } }],
    });
    expect(changed.events[0]?.data.source).not.toHaveProperty('key');
    expect(await list()).toContain('Messages in FHIR with an API key that no source has');
  });

  test('what is wrong is said at the fields, and nothing is configured', async () => {
    const refused = await send('/new', {
      ...{ id: 'Epic', format: 'fhir', time_zone: 'Omaha', key: 'key_none', retention_days: '0' },
      ...{ 'id_systems.Patient': 'mrn', patient_authority: 'HOSP' },
    });
    expect(refused).toMatchObject({ status: 400, events: [] });
    expect(Object.keys(refused.messages).toSorted()).toEqual(
      ['id', 'id_systems.Patient', 'patient_authority', 'retention_days', 'time_zone'].toSorted(),
    );
    expect(refused.page).toContain('value="Omaha"');
    const foreign = await send('/new', { id: 'epic', format: 'fhir', key: 'key_none' });
    expect(foreign).toMatchObject({ status: 400, events: [] });
    expect(foreign.messages).toEqual({ key: 'Must be the id of an API key of the workspace.' });
    const again = await send('/new', { id: 'lab', format: 'fhir' });
    expect(again).toMatchObject({ status: 400, messages: { id: 'Is used by another source.' }, events: [] });
    const second = await send('/new', { id: 'lab-2', format: 'hl7v2' });
    expect(second).toMatchObject({ status: 409, events: [] });
    expect(second.page).toContain('Source lab, of the format hl7v2, is already the default for this format');
  });

  test('a mapping is written as JSON, shown by its codes, and what is wrong with it is said at its field', async () => {
    const mapping = { visit_types: { OBV: 'observation' }, visit_id: 'PID-18' };
    const fields = { format: 'hl7v2', mapping: JSON.stringify(mapping) };
    const changed = await send('/lab/edit', fields);
    expect(changed).toMatchObject({
      ...{ status: 303, events: [{ type: 'SourceConfigured', data: { source: { id: 'lab', mapping } } }] },
    });
    const page = await list(compliance);
    for (const shown of ['visit_types: 1 code', '<code dir="auto">OBV</code> → observation', 'PID-18']) {
      expect(page).toContain(shown);
    }
    const form = (await admin.get(`${root}/lab/edit`)).text;
    expect(form).toContain('&quot;OBV&quot;: &quot;observation&quot;');
    for (const [text, message] of [
      ['OBV', 'Must be an object.'],
      ['{"visit_id": "PV1-3"}', '&quot;visit_id&quot; must be one of PV1-19, PV1-50, PID-18.'],
      ['{"payer": "A"}', '&quot;payer&quot; is not a known option; the options are'],
    ] as const) {
      const refused = await send('/lab/edit', { format: 'hl7v2', mapping: text });
      expect(refused).toMatchObject({ status: 400, events: [] });
      expect(refused.messages.mapping).toContain(message);
      expect(refused.page).toContain(text.replaceAll('"', '&quot;'));
    }
    const cleared = await send('/lab/edit', { format: 'hl7v2', mapping: '' });
    expect(cleared.events[0]?.data.source).not.toHaveProperty('mapping');
  });

  test('it is removed when the question is answered', async () => {
    expect((await admin.get(`${root}/lab/remove`)).text).toContain('Remove the source lab?');
    const removed = await send('/lab/remove', {});
    expect(removed).toMatchObject({
      status: 303,
      events: [{ type: 'SourceRemoved', data: { source_id: 'lab' } }],
    });
    for (const path of ['/lab/remove', '/lab/edit']) {
      expect((await admin.get(root + path)).status).toBe(404);
      expect(await send(path, lab)).toMatchObject({ status: 404, events: [] });
    }
  });

  test('a source is bound to connections of MLLP, and shown so', async () => {
    const fields = {
      ...{ id: 'ward', format: 'hl7v2', 'mllp.networks': '192.0.2.0/24, 2001:db8::/32', 'mllp.port': '2576' },
      'mllp.certificates': `CN=ward,O=Hospital; ${'AB'.repeat(32)}`,
    };
    const mllp = {
      networks: ['192.0.2.0/24', '2001:db8::/32'],
      certificates: ['CN=ward,O=Hospital', Array.from({ length: 32 }, () => 'AB').join(':')],
      port: 2576,
    };
    const made = await send('/new', fields);
    expect(made).toMatchObject({ status: 303, events: [{ data: { source: { id: 'ward', mllp } } }] });
    expect(await list()).toContain('CN=ward,O=Hospital');
    const { text: form } = await admin.get(`${root}/ward/edit`);
    expect(form).toContain('value="192.0.2.0/24, 2001:db8::/32"');
    const refused = await send('/ward/edit', {
      ...fields,
      'mllp.networks': '192.0.2',
      'mllp.certificates': 'x',
    });
    expect(refused).toMatchObject({ status: 400, events: [] });
    expect(Object.keys(refused.messages).toSorted()).toEqual(['mllp.certificates', 'mllp.networks']);
    for (const subject of [
      'CN=ward,O=Hospital\\',
      `CN=${'w'.repeat(90_000)}\\`,
      `CN=${' '.repeat(90_000)}w\u2028x`,
    ]) {
      const started = performance.now();
      const one = await send('/ward/edit', { ...fields, 'mllp.certificates': subject });
      expect(one).toMatchObject({ status: 400, events: [] });
      expect(Object.keys(one.messages)).toEqual(['mllp.certificates']);
      expect(performance.now() - started).toBeLessThan(3_000);
    }
    const alone = await send('/new', { id: 'port', format: 'hl7v2', 'mllp.port': '2576' });
    expect(alone).toMatchObject({ status: 400, events: [] });
    expect(alone.page).toContain('requires networks or certificates');
    const unbound = await send('/ward/edit', { format: 'hl7v2' });
    expect(unbound.events[0]?.data.source).not.toHaveProperty('mllp');
    await send('/ward/remove', {});
  });

  test('compliance staff see the sources, and are offered no change', async () => {
    await send('/new', { id: 'epic', format: 'fhir', 'id_systems.Patient': 'https://hospital.example/mrn' });
    const page = await list(compliance);
    expect(page).toContain('https://hospital.example/mrn');
    expect(page).not.toContain('epic/edit');
    expect(page).not.toContain(`${root}/new`);
  });
});
