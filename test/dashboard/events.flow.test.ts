import { afterAll, beforeAll, expect, test } from 'vitest';
import { documentStream } from '../../src/domain/events/streams.ts';
import type { Role } from '../../src/modules/auth/users.ts';
import { runCli, storesOf, temporaryFolder } from '../support/cli.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { phi } from '../support/output.ts';
import { billedPath, freshClaim, inWorkspace, sendClaim, worklist } from '../support/readiness.ts';
import { createEncounter, documentForm, documentsPath, samples, TestWorkspace } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, readAll, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let root: string;
  let subscriber: string;
  beforeAll(async () => {
    service = await start();
    subscriber = (await service.createKey('clinic', ['events'])).key;
    root = `/workspaces/${service.workspaceId('clinic')}/events`;
  });
  afterAll(() => service.stop());

  const visit = async (role: Role): Promise<BrowserlessSession> => (await signedIn(service, role)).visitor;

  const decoded = (markup: string) =>
    markup.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');

  /** The payloads on a page, in their order. */
  const payloads = (text: string) =>
    // biome-ignore lint/suspicious/noExplicitAny: CloudEvents of either view
    [...text.matchAll(/<pre[^>]*><code>(.*?)<\/code>/gs)].map(([, json = '']): any =>
      JSON.parse(decoded(json)),
    );

  /** The events as the interface gives them, newest first. */
  const stream = async (query = '') => {
    const { text } = await service.as(subscriber).get(`/events?limit=10000${query}`);
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .reverse();
  };

  /** What was noted of who saw events since a position. */
  const noted = async (after: number) =>
    (await readAll(service.eventLog, after))
      .filter(({ type, data }) => type === 'AccessRecorded' && data.action === 'events.read')
      .map(({ data, metadata }) => ({ principal: metadata.principal.type, shown: data.shown }));

  test('shows the newest events as the interface gives them, with links, and is in the audit trail', async () => {
    const encounter = await createEncounter(service);
    await service.upload(documentsPath(encounter), documentForm());
    const payer = samples.payer();
    await service.post('/integration/payers', payer);
    await service.post('/integration/payers', { ...payer, city: 'Omaha' });
    const visitor = await visit('compliance');
    const events = await stream();
    const before = await service.eventLog.head();
    const { status, text } = await visitor.get(root);
    expect(status).toBe(200);
    const shown = payloads(text);
    expect(shown.length).toBeGreaterThan(4);
    expect(shown).toEqual(events.slice(0, shown.length));
    expect(text).toContain(`/records/payers/${payer.id}?version=2`);
    expect(text).toContain(`/records/encounters/${encounter}/documents/`);
    const range = { from: Number(shown.at(-1).sequence), to: Number(shown[0].sequence) };
    expect(await noted(before)).toEqual([
      { principal: 'user', shown: { ranges: [range], count: shown.length } },
    ]);
  });

  test('says what happened to whom and what it changed, and that the names were shown', async () => {
    const patient = { ...samples.patient(), first_name: phi('Maria'), last_name: phi('Lopez') };
    await service.post('/integration/patients', patient);
    await service.post('/integration/patients', { ...patient, city: 'Omaha', phone: '402-555-0199' });
    const encounterId = phi('encounter');
    const encounter = { id: encounterId, patient_id: patient.id, date_of_service: '2026-03-05' };
    await service.post('/integration/encounters', encounter);
    await service.upload(documentsPath(encounterId), documentForm());
    const visitor = await visit('compliance');
    const before = await service.eventLog.head();
    const { text } = await visitor.get(root);
    const words = text
      .slice(text.indexOf('<ol'))
      .replaceAll(/<(details|pre).*?<\/\1>/gs, '')
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ');
    const name = `${patient.first_name} ${patient.last_name}`;
    expect(words).toMatch(
      new RegExp(`Patient updated ${name} ${patient.id} version 2 (City, Phone|Phone, City) `),
    );
    expect(words).toContain(`Patient created ${name} ${patient.id} version 1 `);
    expect(words).toMatch(new RegExp(`Encounter created ${name}, Mar 5, 2026 ${encounterId}`));
    expect(words).toMatch(new RegExp(`Document uploaded \\S+ of ${name}, `));
    const accesses = (await readAll(service.eventLog, before)).filter(
      ({ type, data }) => type === 'AccessRecorded' && data.action === 'record.list',
    );
    expect(accesses.map(({ data }) => data.kind)).toEqual(expect.arrayContaining(['patient', 'encounter']));
  });

  test('shows one kind alone, which stands in the address, and pages on', async () => {
    const payers = Array.from({ length: 22 }, () => samples.payer());
    for (const payer of payers) await service.post('/integration/payers', payer);
    await service.post('/integration/facilities', samples.facility());
    const visitor = await visit('compliance');
    const events = await stream('&kinds=payer');
    const before = await service.eventLog.head();
    const first = (await visitor.get(`${root}?kind=payer`)).text;
    expect(payloads(first)).toEqual(events.slice(0, 20));
    const [, older = ''] = /href="\/dashboard([^"]+)" rel="next"/.exec(first) ?? [];
    const second = (await visitor.get(decoded(older))).text;
    expect(payloads(second)).toEqual(events.slice(20, 40));
    expect((await noted(before)).map(({ shown }) => shown)).toMatchObject([
      { count: 20, event_types: ['PayerUpserted', 'RecordErased/payer'] },
      { event_types: ['PayerUpserted', 'RecordErased/payer'] },
    ]);
    expect((await visitor.get(`${root}?kind=unicorn`)).status).toBe(400);
  });

  test('what becomes of encounters in billing is a kind of its own, and leads to them', async () => {
    const claim = freshClaim();
    const [id, claim_id] = [String(claim.encounter.id), phi('claim')];
    await sendClaim(service, claim);
    await worklist(service);
    expect((await service.post(billedPath(claim), { claim_id })).status).toBe(200);
    await inWorkspace(service, 'readiness', 'set', 'facility_tax_id', 'off');
    await worklist(service);
    const visitor = await visit('compliance');
    const ofReadiness = await stream('&kinds=readiness');
    expect(ofReadiness).toHaveLength(3);
    const { text } = await visitor.get(`${root}?kind=readiness`);
    expect(payloads(text)).toEqual(ofReadiness);
    expect(text).toContain(`/records/encounters/${encodeURIComponent(id)}"`);
    expect(text).toContain(`/workspaces/${service.workspaceId('clinic')}/readiness">all encounters`);
    const all = await stream();
    expect(payloads((await visitor.get(root)).text)).toEqual(all.slice(0, 20));
    expect((await visitor.get(`${root}?kind=encounter`)).text).not.toContain('readiness/');
    const hidden = (await (await visit('viewer')).get(`${root}?kind=readiness`)).text;
    expect(payloads(hidden).map(({ type }) => type)).toEqual(ofReadiness.map(({ type }) => type));
    for (const secret of [id, claim_id]) expect(hidden).not.toContain(secret);
    await inWorkspace(service, 'records', 'erase', 'encounter', id, '--reason', 'x');
    const erased = (await visitor.get(`${root}?kind=readiness`)).text;
    expect(payloads(erased).map(({ type }) => type)).toEqual([
      ...['chartledger.encounter.readiness_erased.v1', 'chartledger.readiness.rules_applied.v1'],
    ]);
    expect(erased.split('This event was erased.')).toHaveLength(3);
  });

  test('who may not see PHI has the de-identified view, and nothing beside it', async () => {
    const patient = { ...samples.patient(), last_name: phi('Lopez') };
    await service.post('/integration/patients', patient);
    const visitor = await visit('viewer');
    const { key } = await service.createKey('clinic', ['events:deidentified']);
    const [event] = (await service.as(key).get('/events?limit=10000')).text
      .split('\n')
      .filter(Boolean)
      .slice(-1);
    const before = await service.eventLog.head();
    const { status, text } = await visitor.get(`${root}?kind=patient`);
    expect(status).toBe(200);
    expect(payloads(text)[0]).toEqual(JSON.parse(event ?? ''));
    for (const told of [patient.id, patient.last_name, '/records/', `${new Date().getUTCFullYear()}-`]) {
      const main = text.slice(text.indexOf('<ol')).replaceAll('-01-01T00:00:00.000Z', '');
      expect(main).not.toContain(told);
    }
    expect((await noted(before)).map(({ shown }) => shown)).toMatchObject([{ view: 'deidentified' }]);
  });

  test('what comes is a part of the page; where nothing came nothing is noted', async () => {
    const visitor = await visit('compliance');
    const live = (await visitor.get(`${root}?live=1`)).text;
    const [, news = ''] = /hx-get="\/dashboard([^"]+)"/.exec(live) ?? [];
    const before = await service.eventLog.head();
    expect((await visitor.get(decoded(news))).text).toBe('');
    expect(await noted(before)).toEqual([]);
    const payer = samples.payer();
    await service.post('/integration/payers', payer);
    const { text } = await visitor.get(decoded(news));
    expect(payloads(text).map(({ data }) => data.sent.id)).toEqual([payer.id]);
    expect(await noted(before)).toMatchObject([{ shown: { count: 1 } }]);
    const [, next = ''] = /hx-get="\/dashboard([^"]+)"/.exec(text) ?? [];
    expect((await visitor.get(decoded(next))).text).toBe('');
  });

  test('names beside events that cannot be read are in the audit trail', async () => {
    const patient = { ...samples.patient(), last_name: phi('Lopez') };
    await service.post('/integration/patients', patient);
    const encounterId = phi('encounter');
    await service.post('/integration/encounters', { id: encounterId, patient_id: patient.id });
    const workspace = new TestWorkspace(service.workspaceId('clinic'));
    const subject = { encounter_id: encounterId, document_id: 'report-1' };
    const event = workspace.event(subject, 'DocumentUploaded');
    const newer = { ...event, metadata: { ...event.metadata, schemaVersion: 99 } };
    const visitor = await visit('compliance');
    const after = await service.eventLog.head();
    const stream = documentStream(workspace.id, encounterId, 'report-1');
    await service.eventLog.append(stream, newer, 'any');
    await service.eventLog.append(stream, workspace.event(subject, 'DocumentRemoved'), 'any');
    let text = '';
    const accesses = await accessesBy(service, async () => {
      await eventually(async () => {
        ({ text } = await visitor.get(`${root}/news?kind=document&after=${after}`));
        expect(text).toContain('This version of the service cannot read this event.');
      });
    });
    expect(text).toContain(patient.last_name);
    expect(accesses.map(({ action, kind }) => [action, kind])).toEqual(
      expect.arrayContaining([
        ['record.list', 'encounter'],
        ['record.list', 'patient'],
      ]),
    );
  });

  test('the de-identified view has no times of what comes', async () => {
    const visitor = await visit('viewer');
    const after = await service.eventLog.head();
    await service.post('/integration/payers', samples.payer());
    const { text } = await visitor.get(`${root}/news?kind=payer&after=${after}`);
    expect(text).toContain('1 new');
    expect(text).not.toContain('<time');
  });

  test('an event that was erased is named, without what it held', async () => {
    const payer = { ...samples.payer(), name: phi('Aetna') };
    await service.post('/integration/payers', payer);
    const args = [
      'records',
      'erase',
      'payer',
      payer.id,
      '--reason',
      'x',
      '--workspace',
      service.workspaceId('clinic'),
    ];
    await runCli(args, { env: { ...storesOf(service.config), DATA_DIR: temporaryFolder() } });
    const { text } = await (await visit('compliance')).get(`${root}?kind=payer`);
    expect(text).toContain('This event was erased.');
    expect(text).not.toContain(payer.name);
    expect(payloads(text)[0]).toMatchObject({ type: 'chartledger.payer.erased.v1' });
  });
});
