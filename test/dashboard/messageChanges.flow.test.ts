import { afterAll, beforeAll, expect, test } from 'vitest';
import { runInWorkspace } from '../support/cli.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { fhirEncounter, fhirPatient, freshId, sendFhir } from '../support/fhir.ts';
import { waitingMessage } from '../support/messages.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let workspace: string;
  let [admin, integrator, compliance] = [] as unknown as [
    BrowserlessSession,
    BrowserlessSession,
    BrowserlessSession,
  ];
  beforeAll(async () => {
    service = await start();
    workspace = service.workspaceId('clinic');
    [{ visitor: admin }, { visitor: integrator }, { visitor: compliance }] = [
      await signedIn(service, 'admin'),
      await signedIn(service, 'integrator'),
      await signedIn(service, 'compliance'),
    ];
  });
  afterAll(() => service.stop());

  const headers = { 'content-type': 'application/hl7-v2' };
  /** Sends a message that is not accepted; gives its text, the patient's id, and its page. */
  async function sendRefused() {
    const patient = freshId('hl7-patient');
    const text = [
      `MSH|^~\\&|A|B|C|D|20260314||ADT^A28^ADT_A05|${freshId('control')}|P|2.5.1`,
      'EVN|A28|20260314',
      `PID|1||${patient}^^^HOSP^MR||${phi('Núñez')}^Ada||19841329|F`,
    ].join('\r');
    const { text: answer } = await service.send('/hl7/v2', { method: 'POST', headers, body: text });
    expect(answer).toMatch(/MSA\|A[ER]\|/);
    const id = await waitingMessage(service, workspace);
    return { patient, text, id, path: `/workspaces/${workspace}/messages/${id}` };
  }
  const waiting = async () =>
    JSON.parse((await runInWorkspace(service, 'messages', 'list', '--rejected', '--json')).stdout).map(
      ({ id }: { id: string }) => id,
    );
  const edited = (page: string) =>
    (/<textarea id="text"[^>]*>(.*?)<\/textarea>/s.exec(page)?.[1] ?? '')
      .replaceAll('&amp;', '&')
      .replaceAll('&quot;', '"');

  test('the field at fault is marked and named; its correction is tried, then processed', async () => {
    const { patient, text, id, path } = await sendRefused();
    const shown = (await admin.get(`${path}?content=shown`)).text;
    const [, row = ''] = /<tr><th scope="row"><span class="nowrap">PID-7<(.*?)<\/tr>/s.exec(shown) ?? [];
    expect(row).toContain('Date of birth');
    expect(row).toMatch(/class="badge[^"]*">error</);

    const opened = await accessesBy(service, async () => {
      const page = await admin.get(`${path}/correct`);
      expect(page.status).toBe(200);
      expect(edited(page.text)).toBe(text.replaceAll('\r', '\n'));
    });
    expect(opened).toMatchObject([{ action: 'message.read', query: { message: id, raw: true } }]);

    const corrected = text.replace('19841329', '19841229').replaceAll('\r', '\r\n');
    const tried = await appendedBy(service, async () => {
      for (const [sent, expected, said] of [
        [corrected, 200, 'Nothing was stored.'],
        [text, 409, 'The correction is identical to the original message.'],
        [`${corrected}\r\n${corrected}`, 400, 'The correction must be exactly one message.'],
      ] as const) {
        const { status, text: page } = await admin.post(`${path}/correct`, { text: sent, action: 'check' });
        expect([said, page.includes(said)]).toEqual([said, true]);
        expect(status).toBe(expected);
        expect(edited(page).replaceAll(/\r\n?/g, '\n')).toBe(sent.replaceAll(/\r\n?/g, '\n'));
      }
    });
    expect(tried).toEqual([]);
    const appended = await appendedBy(service, async () => {
      const done = await admin.post(`${path}/correct`, { text: corrected, action: 'process' });
      expect(done.status).toBe(303);
      const page = await admin.get(String(done.headers.location).replace('/dashboard', ''));
      expect(page.text).toContain('The corrected message was processed: accepted.');
      expect(page.text).toContain(`href="/dashboard${path}"`);
    });
    expect(appended).toEqual([`clinic.patient-${patient}: PatientUpserted`]);
    expect((await service.get(`/integration/patients/${patient}`)).body.record.date_of_birth).toBe(
      '1984-12-29',
    );
    expect(await waiting()).not.toContain(id);
    expect((await admin.get(`${path}/correct`)).status).toBe(409);
  });

  test('a message in another character set is corrected in it, and in no other', async () => {
    const patient = freshId('hl7-patient');
    const body = Buffer.from(
      [
        `MSH|^~\\&|A|B|C|D|20260314||ADT^A28^ADT_A05|${freshId('control')}|P|2.5.1||||||8859/1`,
        'EVN|A28|20260314',
        `PID|1||${patient}^^^HOSP^MR||Núñez^Ada||19841329|F`,
      ].join('\r'),
      'latin1',
    );
    await service.send('/hl7/v2', { method: 'POST', headers, body });
    const path = `/workspaces/${workspace}/messages/${await waitingMessage(service, workspace)}`;
    const text = edited((await admin.get(`${path}/correct`)).text).replace('19841329', '19841229');
    expect(text).toContain('Núñez');
    const foreign = await admin.post(`${path}/correct`, {
      text: text.replace('Ada', 'Ада'),
      action: 'process',
    });
    expect(foreign.status).toBe(400);
    expect(foreign.text).toContain('not in the character set of the message');
    expect((await admin.post(`${path}/correct`, { text, action: 'process' })).status).toBe(303);
    const stored = await service.get(`/integration/patients/${patient}`);
    expect(stored.body).toMatchObject({ record: { last_name: 'Núñez' } });
  });

  test('a message is resent by one click, and says what became of it', async () => {
    const { id, path } = await sendRefused();
    await integrator.get(path);
    const appended = await appendedBy(service, async () => {
      expect((await integrator.post(`${path}/resend`, {})).status).toBe(303);
    });
    expect(appended).toEqual([]);
    expect((await integrator.get(path)).text).toContain('The message was processed again: rejected.');
    expect(await waiting()).toContain(id);
  });

  test('a message is put aside for a reason, and no longer waits', async () => {
    const { id, path } = await sendRefused();
    await integrator.get(`${path}/put-aside`);
    const without = await integrator.post(`${path}/put-aside`, { reason: ' ' });
    expect(without.status).toBe(400);
    expect(without.text).toContain('must have 1 to 1000 characters');
    expect(await waiting()).toContain(id);
    const accesses = await accessesBy(service, async () => {
      expect((await integrator.post(`${path}/put-aside`, { reason: 'Sent by mistake' })).status).toBe(303);
    });
    expect(accesses).toEqual([
      { action: 'message.put_aside', query: { message: id, reason: 'Sent by mistake' } },
    ]);
    expect(await waiting()).not.toContain(id);
    const page = (await integrator.get(path)).text;
    expect(page).toContain('Sent by mistake');
    expect(page).not.toContain(`${path}/put-aside`);
    const again = await runInWorkspace(service, 'messages', 'put-aside', id, '--reason', 'Again');
    expect(again).toMatchObject({ code: 1, stdout: '' });
    expect(again.stderr).toContain('The message was already accepted, corrected or put aside.');
    const shown = await runInWorkspace(service, 'messages', 'show', id);
    expect(shown.stdout).toMatch(/^put aside +\S+, by user \S+: Sent by mistake$/m);

    const other = await sendRefused();
    expect(
      await runInWorkspace(service, 'messages', 'put-aside', other.id, '--reason', 'Test'),
    ).toMatchObject({
      code: 0,
      stdout: `Message ${other.id} is put aside.\n`,
    });
    expect(await waiting()).not.toContain(other.id);
  });

  test('all that wait are resent by one click, and so accepted where what they lacked is there by now', async () => {
    const unseen = fhirPatient();
    await sendRefused();
    await sendFhir(service, '/fhir/Encounter', fhirEncounter({ reference: `Patient/${unseen.id}` }));
    const ids = await waiting();
    const path = `/workspaces/${workspace}/messages`;
    expect((await integrator.get(path)).text).toContain(`>Resend ${ids.length} waiting<`);
    expect((await compliance.get(path)).text).not.toContain('waiting<');
    await service.post('/integration/patients', { ...samples.patient(), id: unseen.id });
    const appended = await appendedBy(service, async () => {
      expect((await integrator.post(`${path}/resend`, {})).status).toBe(303);
    });
    expect(appended).toEqual([expect.stringMatching(/^clinic\.encounter-.*: EncounterUpserted$/)]);
    const after = (await integrator.get(`${path}?rejected=yes`)).text;
    expect(after).toContain(`Processed again: ${ids.length}. Accepted: 1.`);
    expect(await waiting()).toHaveLength(ids.length - 1);
  });

  test('only administrators correct; compliance staff look', async () => {
    const { path } = await sendRefused();
    const looked = (await compliance.get(path)).text;
    expect(looked).not.toContain(`action="/dashboard${path}/resend"`);
    expect((await integrator.get(path)).text).not.toContain(`${path}/correct`);
    const appended = await appendedBy(service, async () => {
      expect((await compliance.post(`${path}/resend`, {})).status).toBe(403);
      expect((await integrator.get(`${path}/correct`)).status).toBe(403);
      expect((await integrator.post(`${path}/correct`, { text: 'MSH', action: 'process' })).status).toBe(403);
    });
    expect(appended).toEqual([]);
  });
});
