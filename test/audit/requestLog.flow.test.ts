import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { recordAccess } from '../../src/modules/audit/recordAccess.ts';
import { type Client, sendBatch, type TestResponse } from '../support/client.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import {
  accessesBy,
  appendedBy,
  newEvents,
  refusalsBy,
  sharedService,
  type TestService,
} from '../support/service.ts';

const REQUESTS = '/integration/requests';
/** A field at fault, as a caller reads it. */
const fault = (field: string, code: string, kind: string | null = null, id: string | null = null) => ({
  field,
  code,
  kind,
  id,
});
const idOf = ({ headers }: TestResponse) => String(headers['request-id']);

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
    // The projector of a service that has just started may still be on its way.
    await eventually(async () => expect((await service.send(REQUESTS)).status).toBe(200), 30_000);
  });
  afterAll(() => service.stop());

  const listed = async (client: Client, query = '') => {
    const { status, body } = await client.get(`${REQUESTS}${query}`);
    expect([status, query]).toEqual([200, query]);
    return body;
  };
  const idsOf = async (client: Client, query = ''): Promise<string[]> =>
    (await listed(client, query)).items.map(({ id }: { id: string }) => id);
  /** A client with a key of its own. */
  const withKey = async (label = 'clinic') => {
    const { key, id } = await service.createKey(label);
    return Object.assign(service.as(key), { keyId: id });
  };

  test('a key finds out why a request of its was refused, and for which fields, by the request id', async () => {
    const client = await withKey();
    const patient = {
      id: phi('patient'),
      last_name: 7,
      date_of_birth: phi('1984-02-30'),
      primary_insurance: { policy_number: phi('policy') },
      [phi('Lopez')]: phi('unknown'),
    };
    let refused: TestResponse | undefined;
    const headers = { 'user-agent': 'emr-connector/4.2', 'x-request-id': 'sync-17' };
    const appended = await appendedBy(service, async () => {
      refused = await client.post('/integration/patients', patient, headers);
    });
    expect(appended).toEqual([]);
    const id = idOf(refused as TestResponse);
    let answer: TestResponse | undefined;
    const events = await newEvents(service, async () => {
      answer = await client.get(`${REQUESTS}/${id}`);
    });
    expect(events).toEqual([]);
    expect(answer).toMatchObject({ status: 200 });
    expect(answer?.body).toEqual({
      id,
      refused_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
      method: 'POST',
      route: '/integration/patients',
      status: 400,
      code: 'validation_failed',
      fields: ['first_name', 'last_name', 'date_of_birth', 'primary_insurance.payer_id'],
      faults: [
        fault('first_name', 'required'),
        fault('last_name', 'wrong_type'),
        fault('date_of_birth', 'no_date'),
        fault('primary_insurance.payer_id', 'required'),
      ],
      lines: null,
      kind: 'patient',
      record_id: patient.id,
      document_id: null,
      client_ip: '127.0.0.1',
      user_agent: 'emr-connector/4.2',
      client_request_id: 'sync-17',
      traceparent: null,
    });
  });

  test('no name reaches the log that is not of the interface, nor anything that was sent', async () => {
    const name = phi('Lopez');
    const events = await newEvents(service, async () => {
      await service.get(`/integration/patients?${name}=${phi('value')}&limit=${phi('many')}`);
      await service.post('/integration/batch', [{ kind: 'payer', [name]: 1 }]);
      await service.post(`/integration/payers?${name}=1`, samples.payer());
    });
    expect(events.map(({ data }) => data.fields ?? data.lines)).toEqual([
      ['unknown_field'],
      {
        sent: 1,
        refused: { validation_failed: 1 },
        fields: { record: 1, unknown_field: 1 },
        first: [
          {
            ...{ line: 1, kind: 'payer', code: 'validation_failed' },
            faults: [
              { field: 'record', code: 'required' },
              { field: 'unknown_field', code: 'unknown' },
            ],
          },
        ],
      },
      ['unknown_field'],
    ]);
    expect(JSON.stringify(events)).not.toContain(name);
  });

  test('of a refused message of HL7 v2 or FHIR, the places at fault are kept, with what is wrong, and nothing else', async () => {
    const [client, name] = [await withKey(), phi('Lopez')];
    const send = (path: string, type: string, body: unknown) =>
      client.send(path, {
        method: 'POST',
        headers: { 'content-type': type },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
    const hl7 = (...segments: string[]) =>
      send(
        '/hl7/v2',
        'application/hl7-v2',
        [
          'MSH|^~\\&|ADT1|ELMST|CHARTLEDGER|BILLING|20260314093015-0500||ADT^A28^ADT_A05|M1|P|2.5.1',
          ...['EVN|A28|20260314093015-0500', ...segments],
        ].join('\r'),
      );
    const resource = {
      resourceType: 'Patient',
      id: phi('patient'),
      name: [{ text: name }],
      birthDate: 'soon',
    };
    const entry = { resource, request: { method: 'PUT', url: `Patient/${resource.id}` } };
    const events = await newEvents(service, async () => {
      await hl7(`PID|1||${phi('patient')}^^^ELMST^MR||${name}^Maria||19841329|F`);
      await hl7();
      await send('/fhir/Patient', 'application/fhir+json', resource);
      await send('/fhir', 'application/fhir+json', {
        resourceType: 'Bundle',
        type: 'transaction',
        entry: [entry],
      });
    });
    const faults = events.map(({ data }) => {
      const { faults: whole, lines } = data as { faults?: unknown; lines?: { first: { faults: unknown }[] } };
      return whole ?? lines?.first[0]?.faults;
    });
    expect(faults).toEqual([
      [{ field: 'PID-7', code: 'invalid' }],
      [{ field: 'PID', code: 'invalid' }],
      [
        { field: 'Patient.name', code: 'required' },
        { field: 'Patient.birthDate', code: 'required' },
      ],
      [
        { field: 'Bundle.entry.resource.name', code: 'required' },
        { field: 'Bundle.entry.resource.birthDate', code: 'required' },
      ],
    ]);
    expect(JSON.stringify(events)).not.toContain(name);
    await eventually(async () => expect(await idsOf(client, '?field=PID-7')).toHaveLength(1));
  });

  test('that of another key, or of another workspace, is not there, and neither is one that was accepted', async () => {
    const [client, beside, elsewhere] = [await withKey(), await withKey(), await withKey('elsewhere')];
    const refused = await client.post('/integration/payers', { id: phi('payer') });
    const accepted = await client.post('/integration/payers', samples.payer());
    const refusals = await refusalsBy(service, async () => {
      for (const [who, id] of [
        [beside, idOf(refused)],
        [elsewhere, idOf(refused)],
        [client, idOf(accepted)],
        [client, uuidv7()],
        [client, phi('made-up')],
      ] as const) {
        const { status, body } = await who.get(`${REQUESTS}/${id}`);
        expect([status, body.code]).toEqual([404, 'not_found']);
      }
    });
    expect(refusals).toEqual(
      Array(5).fill({
        action: 'request.refused',
        outcome: 'refused',
        code: 'not_found',
        status: 404,
        method: 'GET',
        route: `${REQUESTS}/:id`,
      }),
    );
    expect(await idsOf(client, '?code=validation_failed')).toEqual([idOf(refused)]);
    expect(await idsOf(beside, '?code=validation_failed')).toEqual([]);
    expect(await idsOf(elsewhere, '?code=validation_failed')).toEqual([]);
  });

  test('it takes the permission to read', async () => {
    const { key } = await service.createKey('clinic', ['write']);
    const refusals = await refusalsBy(service, async () => {
      for (const path of [REQUESTS, `${REQUESTS}/${uuidv7()}`])
        expect((await service.as(key).get(path)).status).toBe(403);
    });
    expect(refusals).toMatchObject([{ route: REQUESTS }, { route: `${REQUESTS}/:id` }]);
  });

  test('the list is newest first, page by page, and limited by reason, status, field and time', async () => {
    const client = await withKey();
    const unnamed: string[] = [];
    for (let n = 0; n < 3; n += 1)
      unnamed.push(idOf(await client.post('/integration/payers', { id: phi('payer') })));
    const patient = { ...samples.patient(), primary_insurance: { payer_id: phi('payer') } };
    const unreferred = idOf(await client.post('/integration/patients', patient));
    const absent = idOf(await client.get(`/integration/payers/${phi('payer')}`));
    const all = [...unnamed, unreferred, absent].toReversed();
    const accesses = await accessesBy(service, async () => {
      expect(await idsOf(client)).toEqual(all);
      expect(await idsOf(client, '?code=reference_not_found')).toEqual([unreferred]);
      expect(await idsOf(client, '?status=404')).toEqual([absent]);
      expect(await idsOf(client, '?status=400&field=name')).toEqual(unnamed.toReversed());
      expect(await idsOf(client, '?field=primary_insurance.payer_id')).toEqual([unreferred]);
      expect(await idsOf(client, '?field=name&code=not_found')).toEqual([]);
      const first = await listed(client, '?limit=2');
      const second = await listed(client, `?limit=2&page_token=${first.next_page_token}`);
      const third = await listed(client, `?limit=2&page_token=${second.next_page_token}`);
      expect(third.next_page_token).toBe(null);
      const pages = [first, second, third].flatMap(({ items }) => items);
      expect(pages.map(({ id }) => id)).toEqual(all);
      for (const bound of new Set(pages.map(({ refused_at }) => refused_at))) {
        const expected = (isWanted: (at: string) => boolean) =>
          pages.filter(({ refused_at }) => isWanted(refused_at)).map(({ id }) => id);
        expect(await idsOf(client, `?from=${bound}`)).toEqual(expected((at) => at >= bound));
        expect(await idsOf(client, `?to=${bound}`)).toEqual(expected((at) => at < bound));
      }
    });
    expect(accesses).toEqual([]);
  });

  test('what is no filter is refused', async () => {
    const refusals = await refusalsBy(service, async () => {
      for (const query of [
        'code=teapot',
        'status=500',
        'field=',
        'from=yesterday',
        'page_token=7',
        'key=a',
      ]) {
        const { status, body } = await service.get(`${REQUESTS}?${query}`);
        expect([query, status, body.details[0].field]).toEqual([query, 400, query.split('=')[0]]);
      }
    });
    expect(refusals.map(({ fields }) => fields)).toEqual([
      ['code'],
      ['status'],
      ['field'],
      ['from'],
      ['page_token'],
      ['unknown_field'],
    ]);
  });

  test('a batch of which lines were refused is on it, with its lines by reason and field', async () => {
    const client = await withKey();
    const unnamed = Array.from({ length: 2 }, () => ({ kind: 'payer', record: { id: phi('payer') } }));
    const orphan = { kind: 'encounter', record: samples.encounter(phi('patient')) };
    const good = { kind: 'payer', record: samples.payer() };
    const id = idOf(await sendBatch(client, [...unnamed, orphan, good]));
    const { status, body } = await client.get(`${REQUESTS}/${id}`);
    expect([status, body]).toEqual([
      200,
      expect.objectContaining({
        method: 'POST',
        route: '/integration/batch',
        status: 200,
        code: 'validation_failed',
        fields: ['name', 'patient_id'],
        lines: {
          sent: 4,
          refused: { validation_failed: 2, reference_not_found: 1 },
          fields: { name: 2, patient_id: 1 },
          first: [
            ...unnamed.map(({ record }, index) => ({
              ...{ line: index + 1, kind: 'payer', record_id: record.id, code: 'validation_failed' },
              faults: [fault('name', 'required')],
            })),
            {
              ...{ line: 3, kind: 'encounter', record_id: orphan.record.id, code: 'reference_not_found' },
              faults: [fault('patient_id', 'reference_not_found', 'patient', orphan.record.patient_id)],
            },
          ],
        },
        kind: null,
        record_id: null,
      }),
    ]);
    for (const query of ['?field=patient_id', '?code=reference_not_found', '?status=200'])
      expect(await idsOf(client, query)).toEqual([id]);
    expect(await idsOf(client, '?status=400')).toEqual([]);
  });

  test('of the refused lines of a batch the first ten are kept', async () => {
    const client = await withKey();
    const lines = Array.from({ length: 12 }, () => ({ kind: 'payer', record: { id: phi('payer') } }));
    const id = idOf(await sendBatch(client, lines));
    const { body } = await client.get(`${REQUESTS}/${id}`);
    expect(body.lines.first.map(({ line }: { line: number }) => line)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 9, 10,
    ]);
  });

  test('entries of earlier versions of the service are read as far as they tell', async () => {
    const client = await withKey();
    const requestId = uuidv7();
    const principal = { type: 'api_key', id: client.keyId } as const;
    await recordAccess(
      service.eventLog,
      { workspace: service.workspaceId('clinic'), principal, requestId },
      { action: 'request.refused', outcome: 'refused', code: 'not_found', method: 'GET', route: '/events' },
    );
    const { body } = await client.get(`${REQUESTS}/${requestId}`);
    expect(body).toMatchObject({ route: '/events', status: 404, code: 'not_found', fields: [], kind: null });
    expect(await idsOf(client, '?code=not_found')).toEqual([requestId]);
  });

  test('a key with the permission audit reads the refused requests of all senders, and who has seen a record', async () => {
    const [sender, { key }] = [await withKey('audited'), await service.createKey('audited', ['audit'])];
    const [auditor, patient] = [service.as(key), samples.patient()];
    await sender.post('/integration/patients', patient);
    const id = idOf(await sender.post('/integration/patients', {}));
    const path = `/integration/patients/${patient.id}/accesses`;
    expect((await sender.get(path)).body.error).toBe("The API key lacks the permission 'audit'.");
    expect((await sender.get(`${REQUESTS}?senders=all`)).status).toBe(403);
    const unknown = await auditor.get('/integration/patients/nobody/accesses');
    expect(unknown.status).toBe(404);
    const statement = `Appeal${'.'.repeat(300)}`;
    await sender.get(`/integration/patients/${patient.id}`, { 'purpose-statement': `\t${statement}` });
    const accesses = await accessesBy(service, async () => {
      const { items } = (await auditor.get(path)).body;
      expect(items).toEqual([
        {
          ...{ at: expect.any(String), action: 'record.read', found_by: 'id' },
          principal: { type: 'api_key', id: sender.keyId, name: 'Test key' },
          ...{ client_ip: '127.0.0.1', user_agent: null, purpose_statement: statement.slice(0, 200) },
          request_id: expect.any(String),
        },
      ]);
      expect(await idsOf(auditor)).toEqual([idOf(unknown)]);
      expect(await idsOf(auditor, '?senders=all&code=validation_failed')).toEqual([id]);
    });
    expect(accesses).toEqual([
      { action: 'audit.read', query: { kind: 'patient', id: patient.id, seen: 'all' } },
      { action: 'audit.read', query: { code: 'validation_failed', senders: 'all', outcome: 'refused' } },
    ]);
  });

  test('a key reads what it is and may do', async () => {
    const workspace = service.workspaceId('clinic');
    const made = await service.keys.createKey(workspace, 'Own', ['audit'], { purpose: 'operations' });
    const appended = await appendedBy(service, async () => {
      expect((await service.as(made.key).get('/integration/key')).body).toEqual({
        ...{ id: made.id, name: 'Own', workspace, permissions: ['audit'], expires_at: null },
        ...{ purpose: 'operations', recipient: null },
      });
    });
    expect(appended).toEqual([]);
  });

  test('an access that a repeat records after midnight is in the audit trail once', async () => {
    const midnight = Date.UTC(2026, 2, 15);
    const requestId = uuidv7({ msecs: midnight - 1 });
    const principal = { type: 'api_key', id: 'key_1' } as const;
    const first = { workspace: service.workspaceId('clinic'), principal, requestId };
    const earlier = { eventId: requestId, appended: false };
    const events = await newEvents(service, async () => {
      try {
        vi.useFakeTimers({ toFake: ['Date'], now: midnight - 1 });
        await recordAccess(service.eventLog, first, { action: 'file.imported' });
        vi.setSystemTime(midnight + 1);
        const repeat = { ...first, requestId: uuidv7({ msecs: midnight + 1 }), earlier };
        await recordAccess(service.eventLog, repeat, { action: 'file.imported' });
      } finally {
        vi.useRealTimers();
      }
    });
    expect(events.filter(({ data }) => data.action === 'file.imported').map(({ id }) => id)).toEqual([
      requestId,
    ]);
    expect(earlier.appended).toBe(true);
  });
});
