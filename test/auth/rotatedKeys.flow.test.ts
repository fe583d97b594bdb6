import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hl7Message } from '../integrations/hl7Messages.ts';
import { type Client, sendBatch } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { FHIR_JSON, fhirPatient, freshId } from '../support/fhir.ts';
import { inStores } from '../support/readiness.ts';
import { createEncounter, documentForm, documentsPath, samples } from '../support/samples.ts';
import { onEveryEngine } from '../support/servers.ts';
import { accessesBy, appendedBy, type TestService } from '../support/service.ts';

const REQUESTS = '/integration/requests';

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  /** A workspace whose key was replaced, and that key again; each with a client. */
  async function rotatedTwice(label: string) {
    const first = await service.createKey(label);
    const second = await service.keys.rotateKey(first.id, 3_600);
    const third = await service.keys.rotateKey(second.id, 3_600);
    const senders = [first, second, third].map(({ id, key }) => Object.assign(service.as(key), { id }));
    return { workspace: first.workspace, senders: senders as [Sender, Sender, Sender] };
  }
  type Sender = Client & { id: string };

  test('a source applies to all keys of its sender: the one it names, those before it and those after', async () => {
    const { workspace, senders } = await rotatedTwice('sender');
    const [first, second, third] = senders;
    const sources = (...args: string[]) =>
      inStores(service, 'sources', ...(args as [string]), '--workspace', workspace);
    const lab = ['set', 'lab', '--format', 'hl7v2', '--time-zone', 'America/Chicago'];
    const named = ['--patient-authority', 'HOSP', '--facility', 'main', '--facility-name', 'Main Campus'];
    const emr = ['set', 'emr', '--format', 'fhir', '--id-system', 'Patient=urn:mrn'];
    const said = async (sender: Sender) => {
      const [mrn, visit] = [freshId('mrn'), freshId('visit')];
      const body = hl7Message(
        'ADT^A01',
        [
          ['PID', { 3: `LOCAL-1^^^OTHER~${mrn}^^^HOSP`, 5: 'Doe^Jane', 7: '19840229' }],
          ['PV1', { 2: 'O', 19: visit, 44: '20260314093000' }],
        ],
        { 10: uuidv7() },
      );
      const type = { 'content-type': 'application/hl7-v2' };
      const { text } = await sender.send('/hl7/v2', { method: 'POST', headers: type, body });
      expect(text).toContain('MSA|AA|');
      const resource = fhirPatient({
        id: freshId('resource'),
        identifier: [{ system: 'urn:mrn', value: mrn }],
      });
      const fhir = await sender.send(`/fhir/Patient/${resource.id}`, {
        method: 'PUT',
        headers: { 'content-type': FHIR_JSON },
        body: JSON.stringify(resource),
      });
      expect([200, 201]).toContain(fhir.status);
      const { patient_id, facility_id, date_of_service } = (
        await sender.get(`/integration/encounters/${visit}`)
      ).body.record;
      const { status, body: patient } = await sender.get(`/integration/patients/${mrn}`);
      expect([status, patient.version]).toEqual([200, 2]);
      return { isOfMrn: patient_id === mrn, facility_id, date_of_service };
    };
    // Whichever key of the sender is named.
    for (const { id } of [first, third, second]) {
      expect(await sources(...lab, '--key', id, ...named)).toMatchObject({ code: 0 });
      expect(await sources(...emr, '--key', id)).toMatchObject({ code: 0 });
      await eventually(async () => {
        for (const sender of senders) {
          expect(await said(sender)).toEqual({
            isOfMrn: true,
            facility_id: 'main',
            date_of_service: '2026-03-14T09:30:00-05:00',
          });
        }
      });
    }
    const appended = await appendedBy(service, async () => {
      expect(await sources('set', 'other', '--format', 'hl7v2', '--key', third.id)).toMatchObject({
        code: 1,
        stderr: expect.stringContaining(
          `Source lab, of the format hl7v2, already uses key ${second.id} of the same`,
        ),
      });
    });
    expect(appended).toEqual([]);
    // A key that is gone still names its sender, as long as that has another one.
    await service.keys.setKeyState(second.id, 'deleted');
    expect(await sources(...lab, '--key', second.id)).toMatchObject({ code: 0 });
    await service.keys.setKeyState(first.id, 'deleted');
    await service.keys.setKeyState(third.id, 'deleted');
    expect(await sources(...lab, '--key', second.id, ...named)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('key must be the id of an API key of the workspace'),
    });
  });

  test('a request that is sent again with the replacement of its key is written once', async () => {
    const { senders } = await rotatedTwice('again');
    const [first, , third] = senders;
    const headers = { 'idempotency-key': uuidv7() };
    const payer = samples.payer();
    const encounter = await createEncounter(first);
    const sent = async (sender: Sender) => {
      const answers = [
        await sender.post('/integration/payers', payer, headers),
        await sendBatch(sender, [{ kind: 'payer', record: payer }], {
          'idempotency-key': `${headers['idempotency-key']}-2`,
        }),
        await sender.upload(documentsPath(encounter), documentForm({ document_id: 'scan' }), {
          'idempotency-key': `${headers['idempotency-key']}-3`,
        }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
      return answers.map((answer) => answer.headers['idempotent-replayed']);
    };
    const appended = await appendedBy(service, async () => {
      expect(await sent(first)).toEqual([undefined, undefined, undefined]);
      expect(await sent(third)).toEqual(['true', 'true', 'true']);
    });
    expect(appended).toHaveLength(3);
    // It remains unknown to everybody else.
    const other = service.as((await service.createKey('again')).key);
    const answer = await other.post('/integration/payers', payer, headers);
    expect(answer.headers['idempotent-replayed']).toBeUndefined();
  });

  test('the replacement of a key finds what its sender was refused before', async () => {
    const { senders } = await rotatedTwice('refused');
    const ids: string[] = [];
    for (const sender of [...senders, ...senders]) {
      const { status, headers } = await sender.post('/integration/payers', { id: freshId('payer') });
      expect(status).toBe(400);
      ids.unshift(String(headers['request-id']));
    }
    const other = service.as((await service.createKey('refused')).key);
    await other.post('/integration/payers', {});
    for (const sender of senders) {
      const listed: string[] = [];
      for (let token = ''; ; ) {
        const { status, body } = await sender.get(`${REQUESTS}?limit=2${token && `&page_token=${token}`}`);
        expect(status).toBe(200);
        listed.push(...body.items.map(({ id }: { id: string }) => id));
        if (body.next_page_token === null) break;
        token = body.next_page_token;
      }
      expect(listed).toEqual(ids);
      for (const id of ids) expect((await sender.get(`${REQUESTS}/${id}`)).status).toBe(200);
    }
    expect((await other.get(REQUESTS)).body.items).toHaveLength(1);
    expect((await other.get(`${REQUESTS}/${ids[0]}`)).status).toBe(404);
  });

  test('all keys of a sender share its rate limit', async () => {
    const { id, key } = await service.keys.createKey(
      service.workspaceId('shared'),
      'Limited',
      ['read'],
      {},
      { rate_limit: 12 },
    );
    const next = await service.keys.rotateKey(id, 3_600);
    const [old, replacement] = [service.as(key), service.as(next.key)];
    await eventually(async () =>
      expect((await old.get('/integration/payers')).headers['ratelimit-policy']).toContain('"key"'),
    );
    for (let sent = 0; sent < 12; sent++) await old.get('/integration/payers');
    expect((await replacement.get('/integration/payers')).status).toBe(429);
  });

  test('all keys of a sender have the recipient that was given to any of them', async () => {
    const { id, key } = await service.createKey('disclosed');
    const next = await service.keys.rotateKey(id, 3_600);
    const [old, replacement] = [service.as(key), service.as(next.key)];
    const payer = samples.payer();
    expect((await old.post('/integration/payers', payer)).status).toBe(200);
    for (const [given, client] of [
      [id, replacement],
      [next.id, old],
    ] as const) {
      const recipient = freshId('Registry');
      await service.keys.updateKey(given, { recipient, purpose: 'other' });
      await eventually(async () => {
        const seen = await accessesBy(service, () => client.get(`/integration/payers/${payer.id}`));
        expect(seen).toMatchObject([{ disclosed_to: { recipient } }]);
      });
    }
  });
});
