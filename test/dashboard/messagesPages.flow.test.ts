import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { bundle, fhirEncounter, fhirPatient, freshId, putFhir, referTo, sendFhir } from '../support/fhir.ts';
import { phi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, changesBy, type TestService } from '../support/service.ts';

/** What a page says, without its markup. */
const saidBy = (page: string) =>
  page
    .replaceAll(/<[^>]+>/g, ' ')
    .replaceAll('&quot;', '"')
    .replaceAll('&amp;', '&')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll(/\s+/g, ' ');

onEmbeddedEngines((start) => {
  let service: TestService;
  let [compliance, admin] = [] as unknown as [BrowserlessSession, BrowserlessSession];
  let root: string;
  const name = phi('Lovelace');
  const patient = fhirPatient({ name: [{ family: name, given: ['Ada'] }] });
  const bad = fhirPatient({ birthDate: 'soon' });
  const person = freshId('hl7-patient');
  const hl7 = `${[
    'MSH|^~\\&|A|B|C|D|20260314||ADT^A28^ADT_A05|CTRL-A|P|2.5.1',
    'EVN|A28|20260314',
    `PID|1||${person}^^^HOSP^MR~4711^^^OTHER||O\\T\\Neil^Ada||19840229|F`,
  ].join('\r')}\r`;
  const sent = bundle('transaction', patient, fhirEncounter(referTo(patient)));
  beforeAll(async () => {
    service = await start();
    root = `/workspaces/${service.workspaceId('clinic')}`;
    [{ visitor: compliance }, { visitor: admin }] = [
      await signedIn(service, 'compliance'),
      await signedIn(service, 'admin'),
    ];
    expect((await sendFhir(service, '/fhir', sent)).status).toBe(200);
    expect((await putFhir(service, bad)).status).toBe(400);
    expect((await sendHl7(hl7)).text).toContain('MSA|AA|CTRL-A');
  });
  afterAll(() => service.stop());

  const sendHl7 = (body: string) =>
    service.send('/hl7/v2', { method: 'POST', headers: { 'content-type': 'application/hl7-v2' }, body });
  const show = async (path: string, visitor = compliance) => {
    const { status, text } = await visitor.get(root + path);
    expect([path, status]).toEqual([path, 200]);
    return text;
  };
  const statusOf = async (path: string, visitor = compliance) => (await visitor.get(root + path)).status;
  /** The paths of the messages of a page, in their order. */
  const listed = (page: string) =>
    [...page.matchAll(/<th scope="row"><a href="[^"]+(\/messages\/[\w-]+)">/g)].map(([, path]) => path ?? '');
  /** The cells of each row of a page's last table. */
  const cellsOf = (page: string) =>
    [...page.matchAll(/<tr>(<th scope="row">.*?)<\/tr>/gs)].map(([, row = '']) =>
      [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => saidBy(cell).trim()),
    );
  /** The messages of the beginning: HL7 v2, the one that was refused, the Bundle. */
  const messages = async () => listed(await show('/messages')).slice(-3) as [string, string, string];

  test('the list shows them newest first, with what became of each, and is in the audit trail', async () => {
    let page = '';
    const accesses = await accessesBy(service, async () => {
      expect(await appendedBy(service, async () => (page = await show('/messages')))).toEqual([]);
    });
    const things = [person, bad.id, patient.id].map((id) => ({ kind: 'patient', record_id: id }));
    const query = { limit: '50', rejected: 'false' };
    const shown = { ranges: [], count: 4, things: expect.arrayContaining(things) };
    const namedPatients = { action: 'record.list', kind: 'patient', query: { fields: 'name' } };
    expect(accesses).toEqual([
      { action: 'message.list', query, shown },
      { ...namedPatients, shown: { ranges: expect.anything(), count: 2 } },
    ]);
    expect(cellsOf(page).map(([, ...cells]) => cells)).toEqual([
      ['ADT A28 HL7 v2', 'CTRL-A', `Ada O&Neil ${person}`, '', 'accepted', 'default'],
      ['Patient FHIR', '', bad.id, 'Send the full date, with month and day.', 'rejected', 'default'],
      ['Bundle FHIR', '', `Ada ${name} ${patient.id}`, expect.any(String), 'accepted', 'default'],
    ]);
    expect(saidBy(page)).toContain('Not processed yet 0 Accepted 2 Partly accepted 0 Rejected 1');
    expect(page).toContain('Messages not fully accepted per hour: 1 in the last 24 hours');
    expect(page).toContain(`/records/patients/${patient.id}"`);
    // There is no such patient to lead to.
    expect(page).not.toContain(`/records/patients/${bad.id}"`);
  });

  test('it is limited to what was not taken whole, and to a source, and its bars lead to their time', async () => {
    const [, rejected] = await messages();
    const page = await show('/messages?rejected=yes&range=7d');
    expect(listed(page)).toEqual([rejected]);
    expect(listed(await show('/messages?source=default'))).toHaveLength(3);
    expect(await show('/messages?source=epic')).toContain('No messages match.');
    const [, bar = ''] = /<a id="not-taken-\d+" href="\/dashboard\/workspaces\/\w+([^"]+)"/.exec(page) ?? [];
    expect(listed(await show(bar.replaceAll('&amp;', '&')))).toEqual([rejected]);
    expect(await statusOf('/messages?range=1y')).toBe(400);
    expect(await statusOf('/messages?page_token=nonsense')).toBe(400);
  });

  test('a control id leads to its message, in the list and in the search of every page', async () => {
    const [named] = await messages();
    let page = '';
    const accesses = await accessesBy(
      service,
      async () => (page = await show('/messages?control_id=CTRL-A')),
    );
    expect(listed(page)).toEqual([named]);
    expect(accesses).toMatchObject([
      { action: 'message.list', query: { control_id: 'CTRL-A' } },
      { action: 'record.list', kind: 'patient' },
    ]);
    expect(listed(await show('/messages?control_id=CTRL-A&rejected=yes'))).toEqual([]);
    expect(await show('/messages?control_id=8')).toContain('No messages match.');
    const search = async (text: string) => {
      await compliance.get(root);
      const { headers } = await compliance.post(`${root}/search`, { q: text });
      return (await compliance.get(String(headers.location).replace('/dashboard', ''))).text;
    };
    const searched = await accessesBy(service, async () => (page = await search('CTRL-A')));
    expect(listed(page)).toEqual([named]);
    expect(searched).toMatchObject([
      { action: 'record.search' },
      { action: 'message.list', query: { for: 'control id' }, shown: { things: [{ record_id: person }] } },
      { action: 'record.list', kind: 'patient' },
    ]);
    expect(listed(await search('8'))).toEqual([]);
    expect(saidBy(await show(named ?? ''))).toContain('Event ADT A28 Control ID CTRL-A');
  });

  test('who may not read messages sees of none whom it is about', async () => {
    const { visitor } = await signedIn(service, 'integrator');
    const accesses = await accessesBy(service, async () => {
      const page = await show('/messages', visitor);
      for (const id of [person, bad.id, patient.id]) expect(page).not.toContain(String(id));
    });
    expect(accesses).toEqual([{ action: 'message.list', query: { limit: '50', rejected: 'false' } }]);
  });

  test('older ones are on further pages', async () => {
    const busy = `/workspaces/${service.workspaceId('busy')}/messages`;
    const client = service.as((await service.createKey('busy')).key);
    const sentPatients = Array.from({ length: 51 }, () => fhirPatient());
    for (const one of sentPatients) await sendFhir(client, `/fhir/Patient/${one.id}`, one, {}, 'PUT');
    const first = (await compliance.get(busy)).text;
    expect(listed(first)).toHaveLength(50);
    const [, next = ''] = /href="\/dashboard([^"]+)" rel="next"/.exec(first) ?? [];
    const second = (await compliance.get(next.replaceAll('&amp;', '&'))).text;
    const [oldest] = listed(second);
    expect(listed(second)).toHaveLength(1);
    expect(second).not.toContain('rel="next"');
    const page = (await compliance.get(`/workspaces/${service.workspaceId('busy')}${oldest}`)).text;
    expect(page).toContain(String(sentPatients[0]?.id));
  });

  test('a message tells what became of it, where it is wrong, and leads to its records', async () => {
    const [, refused, taken] = await messages();
    let page = '';
    const accesses = await accessesBy(service, async () => (page = await show(taken)));
    const id = taken.split('/').at(-1);
    expect(accesses).toMatchObject([
      {
        action: 'message.read',
        query: { message: id },
        shown: { things: [{ kind: 'patient', record_id: patient.id }, { kind: 'encounter' }] },
      },
      { action: 'record.list', kind: 'encounter' },
      { action: 'record.list', kind: 'patient' },
    ]);
    expect(accesses[0]?.query).not.toHaveProperty('raw');
    expect(saidBy(page)).toContain('FHIR message Bundle accepted all of it was accepted');
    expect(page).toContain(`href="/dashboard${root}/records/patients/${patient.id}?version=1"`);
    expect(saidBy(page)).toContain(`Patient Ada ${name} ${patient.id} created`);
    const problem = await show(refused);
    expect(saidBy(problem)).toContain('Patient.birthDate error');
    expect(problem).toContain('an administrator or integrator can process the message again');
    expect(page).not.toContain('process the message again');
    expect(problem).not.toContain(`/records/patients/${bad.id}"`);
    const record = await show(`/records/patients/${patient.id}/timeline`);
    expect(record).toContain(`href="/dashboard${root}${taken}"`);
    expect(await show(`/audit?kind=patient&id=${patient.id}&seen=yes`)).toContain('Message read');
  });

  test('it is shown as it came for those who ask for it, which is in the audit trail', async () => {
    const [segments, , resources] = await messages();
    let page = '';
    const accesses = await accessesBy(service, async () => {
      page = await show(`${resources}?content=shown`);
    });
    expect(accesses[0]).toMatchObject({ action: 'message.read', query: { raw: true } });
    const text = /<pre class="message-text"[^>]*><code>(.*?)<\/code>/s.exec(page)?.[1] ?? '';
    expect(JSON.parse(text.replaceAll('&quot;', '"'))).toEqual(sent);
    expect(text.split('\n').length).toBeGreaterThan(20);
    const hl7Page = await show(`${segments}?content=shown`);
    expect(cellsOf(hl7Page)).toEqual(
      expect.arrayContaining([
        ['MSH-2 Encoding characters', '^~\\&'],
        ['PID-3 Patient identifiers', `PID-3.1 ${person} PID-3.4 HOSP PID-3.5 MR PID-3.1 4711 PID-3.4 OTHER`],
        ['PID-5 Patient name', 'PID-5.1 O&Neil PID-5.2 Ada'],
        ['PID-8 Sex', 'F'],
      ]),
    );
    const downloaded = await accessesBy(service, async () => {
      const { text: bytes, headers } = await compliance.get(`${root}${segments}/download`);
      expect(bytes).toBe(hl7.trimEnd());
      expect(headers['content-disposition']).toMatch(/^attachment; filename=[\w-]+\.hl7$/);
    });
    expect(downloaded).toMatchObject([{ action: 'message.read', query: { raw: true } }]);
  });

  test('what cannot be read is shown as text, and what is no text or too large is there to be downloaded', async () => {
    const newest = async () => `${listed(await show('/messages'))[0]}?content=shown`;
    await sendHl7('MSH|^~\\&|A|B|C|D|20260314||ADT^A28^ADT_A05|8|P|2.5.1\rno segment\r');
    const unread = await show(await newest());
    expect(saidBy(unread)).toContain('The message cannot be read. Line 2 does not begin with a segment name');
    expect(unread).toContain('no segment');
    await sendHl7('MSH|^~\\&|A|B|C|D|20260314||ADT^A28^ADT_A05|9\0|P|2.5.1\r');
    expect(await show(await newest())).toContain('The message is not text.');
    const header = 'MSH|^~\\&|A|B|C|D|20260314||ADT^A28^ADT_A05';
    await sendHl7(`${header}|11|P|2.5.1\rZZZ|${'x|'.repeat(6_000)}\rPV1|1|N\r`);
    expect(await show(await newest())).toContain('Only the beginning of this long message');
    await sendHl7(`${header}|10|P|2.5.1\r${`ZZZ|${'x|'.repeat(900)}\r`.repeat(7)}PV1|1|N\r`);
    const long = await show(await newest());
    expect(long).toContain('Only the beginning of this long message');
    expect(cellsOf(long).length).toBeGreaterThan(4_900);
    expect(cellsOf(long)).not.toContainEqual(['PV1-2 Patient class', 'N']);
    const photo = [{ contentType: 'image/png', data: 'A'.repeat(1_100_000) }];
    const lines = [fhirPatient({ photo }), fhirPatient()].map((one) => JSON.stringify(one)).join('\n');
    const headers = { 'content-type': 'application/fhir+ndjson' };
    await service.send('/fhir/$import', { method: 'POST', headers, body: lines });
    expect(await show(await newest())).toContain('The message is 1.1 MB, too large to show here.');
  });

  test('it is for nobody of another workspace, or another role', async () => {
    await service.createKey('elsewhere');
    const [one] = await messages();
    const elsewhere = `/workspaces/${service.workspaceId('elsewhere')}`;
    const { visitor: viewer } = await signedIn(service, 'viewer');
    const accesses = await accessesBy(service, async () => {
      for (const rest of ['', '?content=shown', '/download']) {
        expect((await compliance.get(`${elsewhere}${one}${rest}`)).status).toBe(404);
        expect(await statusOf(`${one}${rest}`, viewer)).toBe(403);
      }
      expect(await statusOf('/messages', viewer)).toBe(403);
      expect(await statusOf('/messages/none')).toBe(404);
    });
    expect(accesses).toEqual([]);
    expect(await show('/messages', admin)).toContain(one);
  });

  test('it goes with a record of which it tells', async () => {
    const own = fhirPatient();
    expect((await putFhir(service, own)).status).toBe(201);
    const [message = ''] = listed(await show('/messages'));
    const path = `/records/patients/${own.id}`;
    await show(`${path}/erase`, admin);
    const erased = await changesBy(service, async () => {
      const form: Record<string, string> = { record_id: String(own.id), reason: 'Asked' };
      expect((await admin.post(`${root}${path}/erase`, form)).status).toBe(303);
    });
    expect(erased.map(({ type }) => type)).toContain('RecordErased');
    expect(await statusOf(message)).toBe(404);
    expect(await statusOf(`${message}/download`)).toBe(404);
    expect(listed(await show('/messages'))).not.toContain(message);
  });

  test('a problem names a field as forms do, never by its path', async () => {
    const discharge = [
      'MSH|^~\\&|A|B|C|D|20260314||ADT^A03^ADT_A03|CTRL-P|P|2.5.1',
      'EVN|A03|20260314',
      `PID|1||${freshId('unknown')}^^^HOSP^MR||Jones^Mary`,
      `PV1|1|O|||||||||||||||||${freshId('visit')}`,
    ];
    expect((await sendHl7(discharge.join('\r'))).text).toContain('encounter.patient_id refers to a patient');
    const list = await show('/messages');
    const [newest = ''] = listed(list);
    for (const page of [list, await show(newest)]) {
      expect(page).toContain('Encounter, patient ID refers to a patient that does not exist.');
      expect(page).not.toContain('encounter.patient_id');
    }
  });

  test('the page of a refused request lists its messages, and is in the audit trail as a list of them', async () => {
    const refused = await putFhir(service, bad);
    const id = String(refused.headers['request-id']);
    let page = '';
    await eventually(async () => expect(await statusOf(`/requests/${id}`)).toBe(200));
    const accesses = await accessesBy(service, async () => (page = await show(`/requests/${id}`)));
    expect(listed(page)).toHaveLength(1);
    expect(page).toContain('Send the full date, with month and day.');
    expect(accesses).toHaveLength(2);
    expect(accesses).toEqual(
      expect.arrayContaining([
        { action: 'audit.read', query: { request_id: id } },
        { action: 'message.list', query: { request_id: id, rejected: 'true' } },
      ]),
    );
  });
});
