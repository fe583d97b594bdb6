import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Chartledger, ChartledgerError } from '../../clients/typescript/src/index.ts';
import { eventually } from '../support/eventually.ts';
import { pdf, samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import {
  appendedBy,
  chartledgerOf,
  collect,
  errorOf,
  sharedService,
  type TestService,
} from '../support/service.ts';
import { Receiver } from '../support/webhooks.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  let chartledger: Chartledger;
  beforeAll(async () => {
    service = await sharedService();
    chartledger = chartledgerOf(service);
  });
  afterAll(() => service.stop());

  test('a record of each kind is stored and read back', async () => {
    const { payers, patients, providers, facilities, encounters } = chartledger;
    const [payer, provider, facility] = [samples.payer(), samples.provider(), samples.facility()];
    const patient = { ...samples.patient(), primary_insurance: { payer_id: payer.id } };
    const encounter = {
      ...samples.encounter(patient.id),
      provider_id: provider.id,
      facility_id: facility.id,
    };
    const appended = await appendedBy(service, async () => {
      const written = await payers.upsert(payer);
      expect(written).toMatchObject({ version: 1, outcome: 'created', warnings: [] });
      await patients.upsert(patient);
      await providers.upsert(provider);
      await facilities.upsert(facility);
      await encounters.upsert(encounter);
    });
    expect(appended).toEqual([
      `clinic.payer-${payer.id}: PayerUpserted`,
      `clinic.patient-${patient.id}: PatientUpserted`,
      `clinic.provider-${provider.id}: ProviderUpserted`,
      `clinic.facility-${facility.id}: FacilityUpserted`,
      `clinic.encounter-${encounter.id}: EncounterUpserted`,
    ]);
    expect((await payers.read(payer.id)).record).toMatchObject(payer);
    expect((await patients.read(patient.id)).record).toMatchObject(patient);
    expect((await providers.read(provider.id)).record).toMatchObject(provider);
    expect((await facilities.read(facility.id)).record).toMatchObject(facility);
    expect((await encounters.read(encounter.id)).record).toMatchObject(encounter);
  });

  test('what is looked for is found, through all pages', async () => {
    const payers = Array.from({ length: 3 }, () => ({ ...samples.payer(), name: 'Quill Assurance' }));
    for (const payer of payers) await chartledger.payers.upsert(payer);
    const found = await collect(chartledger.search('assurance QUI', { limit: 2 }));
    expect(found.map(({ kind, id }) => [kind, id])).toEqual(
      payers.toReversed().map(({ id }) => ['payer', id]),
    );
    expect(await collect(chartledger.search('quill', { kind: 'patient' }))).toEqual([]);
  });

  test('an id that no path can hold is refused before something else is read or removed', async () => {
    const { payers, encounters, documents } = chartledger;
    for (const id of ['', '.', '..']) {
      for (const call of [
        payers.read(id),
        collect(payers.history(id)),
        encounters.readiness(id),
        documents.remove(id, 'document-1'),
      ]) {
        expect(await errorOf(call)).toBeInstanceOf(TypeError);
      }
    }
  });

  test.each([301, 307])(
    'a redirect (%i) is followed neither with a record nor with the key',
    async (status) => {
      const elsewhere = await Receiver.listen((req, res) =>
        res.writeHead(status, { location: service.url + req.url }).end(),
      );
      const { payers, documents } = chartledgerOf({ ...service, url: `http://127.0.0.1:${elsewhere.port}` });
      const payer = samples.payer();
      const appended = await appendedBy(service, async () => {
        const calls = [
          () => payers.upsert(payer),
          () => payers.read(payer.id),
          () => documents.remove('e', 'd'),
        ];
        for (const call of calls)
          expect(await errorOf(call())).toMatchObject({ status, code: 'unknown', retryable: false });
      });
      expect(appended).toEqual([]);
      expect(elsewhere.received).toHaveLength(3);
      await elsewhere.close();
    },
  );

  test('a dry run writes nothing', async () => {
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      const written = await chartledger.payers.upsert(payer, { dry_run: true });
      expect(written).toMatchObject({ dry_run: true, outcome: 'created' });
    });
    expect(appended).toEqual([]);
  });

  test('a patch changes what it names, of a record that is there', async () => {
    const [payer, patient] = [samples.payer(), samples.patient()];
    const insurance = { payer_id: payer.id, group_number: '1' };
    await chartledger.payers.upsert(payer);
    await chartledger.patients.upsert({ ...patient, city: 'Omaha', primary_insurance: insurance });
    const appended = await appendedBy(service, async () => {
      const changes = { city: null, primary_insurance: { group_number: '2' } };
      const written = await chartledger.patients.patch(patient.id, changes, { if_match: 1 });
      expect(written).toMatchObject({ version: 2, outcome: 'updated' });
      expect(await errorOf(chartledger.patients.patch('none', changes))).toMatchObject({ code: 'not_found' });
    });
    expect(appended).toEqual([`clinic.patient-${patient.id}: PatientUpserted`]);
    const { record } = await chartledger.patients.read(patient.id);
    expect(record).toMatchObject({ ...patient, primary_insurance: { ...insurance, group_number: '2' } });
    expect(record).not.toHaveProperty('city');
  });

  test('an error tells code, status, request id and the fields at fault', async () => {
    const patient = { ...samples.patient(), state: 'Nebraska', primary_insurance: { payer_id: 'none' } };
    const appended = await appendedBy(service, async () => {
      const invalid = await errorOf(chartledger.patients.upsert(patient));
      expect(invalid).toBeInstanceOf(ChartledgerError);
      expect(invalid).toMatchObject({
        ...{ code: 'validation_failed', status: 400, retryable: false },
        details: [{ field: 'state', message: expect.any(String) }],
        requestId: expect.stringMatching(/^[\da-f-]{36}$/),
      });
      const { state: _, ...valid } = patient;
      const dangling = await errorOf(chartledger.patients.upsert(valid));
      expect(dangling).toMatchObject({
        code: 'reference_not_found',
        details: [{ kind: 'payer', id: 'none' }],
      });
      const unknown = await errorOf(chartledger.payers.read('none'));
      expect(unknown).toMatchObject({ code: 'not_found', status: 404 });
      const refused = await errorOf(chartledgerOf(service, { apiKey: 'clk_none' }).payers.read('none'));
      expect(refused).toMatchObject({ code: 'unauthorized', status: 401 });
    });
    expect(appended).toEqual([]);
  });

  test('conditions guard against the writes of others', async () => {
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      await chartledger.payers.upsert(payer, { if_none_match: '*' });
      const { version } = await chartledger.payers.upsert(payer, { if_match: 1 });
      expect(version).toBe(2);
      const late = await errorOf(chartledger.payers.upsert(payer, { if_match: 1 }));
      expect(late).toMatchObject({ code: 'version_conflict', status: 412, version: 2 });
    });
    expect(appended).toHaveLength(2);
  });

  test('a call with the key of an earlier one is not carried out again', async () => {
    const payer = samples.payer();
    const appended = await appendedBy(service, async () => {
      for (const version of [1, 1])
        expect(await chartledger.payers.upsert(payer, { idempotency_key: payer.id })).toMatchObject({
          version,
        });
    });
    expect(appended).toEqual([`clinic.payer-${payer.id}: PayerUpserted`]);
  });

  test('lists and histories are read through all their pages', async () => {
    const facilities = chartledgerOf({ ...service, key: (await service.createKey('pages')).key }).facilities;
    const sent = Array.from({ length: 5 }, samples.facility);
    for (const facility of sent) await facilities.upsert(facility);
    const listed = await collect(facilities.list({ limit: 2 }));
    expect(listed.map(({ id }) => id)).toEqual(sent.map(({ id }) => id));
    const { id } = sent[0] as { id: string };
    for (const city of ['Omaha', 'Lincoln']) await facilities.upsert({ ...samples.facility(), id, city });
    const versions = await collect(facilities.history(id, { limit: 1 }));
    expect(versions.map(({ version }) => version)).toEqual([3, 2, 1]);
    expect((await facilities.read(id, { version: 2 })).record).toMatchObject({ city: 'Omaha' });
  });

  test('the readiness of an encounter is told, now and as of a moment', async () => {
    const { patients, encounters } = chartledger;
    const patient = samples.patient();
    const encounter = samples.encounter(patient.id);
    await patients.upsert(patient);
    await encounters.upsert(encounter);
    const { created_at } = await encounters.read(encounter.id);
    await eventually(() => expect(Date.now()).toBeGreaterThan(Date.parse(created_at)));
    const { warnings } = await encounters.patch(encounter.id, { is_completed: true });
    expect(warnings).toHaveLength(4);
    const appended = await appendedBy(service, async () => {
      const now = await encounters.readiness(encounter.id);
      expect(now).toMatchObject({ id: encounter.id, version: 2, state: 'blocked' });
      expect(now.findings).toContainEqual(
        expect.objectContaining({ rule: 'facility_missing', severity: 'blocks', field: 'facility_id' }),
      );
      const then = await encounters.readiness(encounter.id, { as_of: created_at });
      expect(then).toMatchObject({ version: 1, state: 'not_completed', as_of: created_at });
      expect(await errorOf(encounters.readiness('none'))).toMatchObject({ code: 'not_found' });
    });
    expect(appended).toEqual([]);
  });

  test('the worklist is read through all its pages, and narrowed', async () => {
    const { patients, providers, encounters } = chartledger;
    const [patient, provider] = [samples.patient(), samples.provider()];
    await patients.upsert(patient);
    await providers.upsert(provider);
    const sent = Array.from({ length: 3 }, () => samples.encounter(patient.id));
    for (const one of sent)
      await encounters.upsert({ ...one, provider_id: provider.id, date_of_service: '2026-03-14' });
    const ofProvider = { provider_id: provider.id, limit: 2 };
    await eventually(async () => {
      const listed = await collect(encounters.worklist({ ...ofProvider, rule: 'facility_missing' }));
      expect(listed.map(({ id, state }) => [id, state])).toEqual(sent.map(({ id }) => [id, 'not_completed']));
    });
    expect(await collect(encounters.worklist({ ...ofProvider, from: '2026-03-15' }))).toEqual([]);
  });

  test('a document is uploaded, listed, downloaded, replaced and removed', async () => {
    const { patients, encounters, documents } = chartledger;
    const patient = samples.patient();
    const { id } = samples.encounter(patient.id);
    await patients.upsert(patient);
    await encounters.upsert({ id, patient_id: patient.id });
    const about = { document_id: 'report/1', category: 'lab_results' } as const;
    const stream = `clinic.document-${id}%2Freport%252F1`;
    const appended = await appendedBy(service, async () => {
      const first = { ...about, file: new Blob([pdf('first')]), filename: 'a.pdf' };
      expect(await documents.upload(id, first)).toMatchObject({ document_id: 'report/1', version: 1 });
      const second = { ...about, file: new File([pdf('second')], 'b.pdf') };
      expect(await documents.upload(id, second, { if_match: 1 })).toMatchObject({ version: 2 });
      expect(await collect(documents.list(id))).toMatchObject([
        { document_id: 'report/1', filename: 'b.pdf' },
      ]);
      const files = [
        await documents.download(id, 'report/1', { version: 1 }),
        await documents.download(id, 'report/1'),
      ];
      const texts = await Promise.all(files.map((file) => new Response(file).text()));
      expect(texts).toEqual([pdf('first').toString(), pdf('second').toString()]);
      await documents.remove(id, 'report/1');
      expect(await errorOf(documents.remove(id, 'report/1'))).toMatchObject({ code: 'not_found' });
    });
    expect(appended).toEqual([
      `${stream}: DocumentUploaded`,
      `${stream}: DocumentUploaded`,
      `${stream}: DocumentRemoved`,
    ]);
    const versions = await collect(documents.history(id, 'report/1'));
    expect(versions.map(({ type }) => type)).toEqual([
      'DocumentRemoved',
      'DocumentUploaded',
      'DocumentUploaded',
    ]);
  });

  test('pages of a list are read one by one, from any of them on', async () => {
    const payers = Array.from({ length: 5 }, () => ({ ...samples.payer(), name: 'Paged' }));
    for (const payer of payers) await chartledger.payers.upsert(payer);
    const ids = payers.map(({ id }) => id).toReversed();
    const pagesOf = async (page_token?: string) => {
      const list = chartledger.search('paged', { limit: 2, ...(page_token && { page_token }) });
      const pages = await collect(list.pages());
      return pages.map(({ items, next_page_token }) => ({ ids: items.map(({ id }) => id), next_page_token }));
    };
    const pages = await pagesOf();
    expect(pages.map((page) => page.ids)).toEqual([ids.slice(0, 2), ids.slice(2, 4), ids.slice(4)]);
    expect(pages.at(-1)?.next_page_token).toBeNull();
    expect(await pagesOf(pages[0]?.next_page_token as string)).toMatchObject([
      { ids: ids.slice(2, 4) },
      { ids: ids.slice(4) },
    ]);
  });

  test('a billing system reads what has changed since it last asked', async () => {
    const { key } = await service.createKey('billing', ['write', 'read', 'events']);
    const billing = chartledgerOf({ ...service, key });
    const [patient, payer] = [samples.patient(), samples.payer()];
    let position = '0';
    /** The ids that changed, by pages; the position of the first one is that of the next round. */
    async function nextRound(): Promise<string[]> {
      const pages = await collect(billing.patients.list({ updated_since: position, limit: 1 }).pages());
      position = pages[0]?.headers.get('chartledger-position') as string;
      return pages.flatMap(({ items }) => items.map(({ id }) => id));
    }
    await billing.patients.upsert(patient);
    expect(await nextRound()).toEqual([patient.id]);
    expect(await nextRound()).toEqual([]);
    await billing.payers.upsert(payer);
    await billing.patients.patch(patient.id, { city: 'Omaha' });
    expect(await nextRound()).toEqual([patient.id]);

    const snapshot = await billing.snapshot('patient');
    expect(snapshot.position).toMatch(/^\d{16}$/);
    const records = await collect(snapshot);
    expect(records).toMatchObject([
      { subject: `patient/${patient.id}`, version: 2, record: { ...patient, city: 'Omaha' } },
    ]);
    await billing.patients.patch(patient.id, { city: 'Lincoln' });
    for await (const { data } of billing.events({ after: snapshot.position, kinds: ['patient'] })) {
      expect(data).toMatchObject({ version: 3, changed: ['city'] });
      break;
    }
    const hidden = await collect(await billing.snapshot('patient', { view: 'deidentified' }));
    expect(hidden).toHaveLength(1);
    expect(JSON.stringify(hidden)).not.toContain(patient.last_name);
  });

  test.each([
    ['{"snapshot":{}}\n{"subject":"payer/1","record":{}}\n', 'no_answer'],
    ['{"snapshot":{}}\n{"subject":"payer/1","record":{}}\n{"end":', 'no_answer'],
    [
      '{"snapshot":{}}\n{"subject":"payer/1","record":{}}\n{"end":{"count":1,"unreadable":2}}\n',
      'unreadable',
    ],
  ])('a snapshot %j, which is not complete, ends with an error', async (lines, code) => {
    const headers = { 'content-type': 'application/x-ndjson', 'chartledger-position': '1' };
    const client = chartledgerOf(service, { fetch: async () => new Response(lines, { headers }) });
    const read: string[] = [];
    const reading = client.snapshot('payer').then(async (snapshot) => {
      for await (const { subject } of snapshot) read.push(subject);
    });
    expect(await errorOf(reading)).toMatchObject({ code });
    expect(read).toEqual(['payer/1']);
  });

  test('the other jobs of the guides are requests, typed by their paths', async () => {
    const { key } = await service.createKey('guides', ['write', 'read', 'webhooks']);
    const guided = chartledgerOf({ ...service, key });
    const patient = samples.patient();
    const { id } = samples.encounter(patient.id);
    await guided.patients.upsert(patient);
    await guided.encounters.upsert({ id, patient_id: patient.id });
    const appended = await appendedBy(service, async () => {
      const params = { path: { id } };
      const billed = await guided.request((api) =>
        api.POST('/integration/encounters/{id}/billed', { params, body: { claim_id: 'claim-1' } }),
      );
      expect(billed).toMatchObject({ success: true });
      await guided.encounters.patch(id, { voided_at: '2026-03-20', void_reason: 'Entered twice' });
      await guided.request((api) =>
        api.POST('/integration/encounters/{id}/billed/acknowledge', {
          params,
          body: { reason: 'The payer accepts it as it was' },
        }),
      );
    });
    expect(appended).toHaveLength(3);

    const invalid = await errorOf(guided.patients.upsert({ ...patient, date_of_birth: 'soon' }));
    await eventually(async () => {
      const refused = await guided.request((api) =>
        api.GET('/integration/requests/{id}', { params: { path: { id: invalid.requestId as string } } }),
      );
      expect(refused).toMatchObject({ code: 'validation_failed', fields: ['date_of_birth'] });
    });
    expect(invalid.message).toContain(`(request ${invalid.requestId})`);
    expect(invalid.headers?.get('request-id')).toBe(invalid.requestId);

    const written = await guided.send((api) =>
      api.POST('/integration/payers', { params: {}, body: samples.payer() }),
    );
    expect(written).toMatchObject({ data: { version: 1 } });
    expect(written.response.headers.get('request-id')).toMatch(/^[\da-f-]{36}$/);

    const proof = await guided.request((api) =>
      api.GET('/integration/patients/{id}/history/{version}/proof', {
        params: { path: { id: patient.id, version: 1 } },
      }),
    );
    expect(proof.type).toBe('chartledger.proof.v1');

    const body = [
      'MSH|^~\\&|EHR|ELM|||20260314093000||ADT^A04|1|P|2.5.1',
      'PID|1||MRN-1||Lopez^Maria||19840229|F',
    ];
    const acknowledgment = await guided.request((api) =>
      api.POST('/hl7/v2', {
        body: body.join('\r'),
        bodySerializer: (message: unknown) => message,
        headers: { 'Content-Type': 'application/hl7-v2' },
        parseAs: 'text',
      }),
    );
    expect(acknowledgment).toMatch(/MSA\|[A-Z]{2}\|1/);
  });

  test('any other request of the service can be sent', async () => {
    const { key } = await service.createKey('clinic', ['webhooks']);
    const request = chartledgerOf({ ...service, key });
    const appended = await appendedBy(service, async () => {
      const page = await request.request((api) => api.GET('/integration/webhooks', {}));
      expect(page.items).toEqual([]);
    });
    expect(appended).toEqual([]);
  });
});
