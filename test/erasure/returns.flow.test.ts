import { v7 as uuidv7 } from 'uuid';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { hl7Message } from '../integrations/hl7Messages.ts';
import { runInWorkspace } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { signedIn } from '../support/dashboard.ts';
import { eventually } from '../support/eventually.ts';
import { fhirPatient, sendFhir } from '../support/fhir.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, newEvents, type TestService } from '../support/service.ts';

/** What a write of each kind of interface answers, in short. */
type Answers = Record<'rest' | 'batch' | 'judged' | 'fhir' | 'bundle' | 'hl7', string>;

/** Whatever came of the audit trail, besides the events of records. */
const isOfRecords = (event: string) => !/AccessRecorded|Readiness/.test(event);

onEmbeddedEngines((start) => {
  let service: TestService;
  let admin: Client;
  let officer: Client;
  beforeAll(async () => {
    service = await start();
    admin = service.as((await service.createKey('clinic', ['settings'])).key);
    officer = service.as((await service.createKey('clinic', ['audit'])).key);
  });
  afterAll(() => service.stop());

  const cli = (...args: string[]) => runInWorkspace(service, ...args);
  const ids = {
    rest: phi('a'),
    batch: phi('b'),
    judged: phi('c'),
    fhir: phi('d'),
    bundle: phi('e'),
    hl7: phi('f'),
  };
  const patient = (id: string) => ({ ...samples.patient(), id });

  async function inBatch(id: string, query = ''): Promise<string> {
    const answer = await service.send(`/integration/batch${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/x-ndjson' },
      body: `${JSON.stringify({ kind: 'patient', record: patient(id) })}\n`,
    });
    const { code, outcome, warnings } = JSON.parse(answer.text.split('\n')[0] as string);
    return (
      code ??
      [outcome, ...warnings.map(({ message }: { message: string }) => message.split(':')[0])].join(' ')
    );
  }

  /** Sends one patient over each interface. */
  async function sendAll(): Promise<Answers> {
    const rest = await service.post('/integration/patients', patient(ids.rest));
    const batch = await inBatch(ids.batch);
    const judged = await inBatch(ids.judged, '?unchanged=skip');
    const fhir = await sendFhir(service, '/fhir/Patient', fhirPatient({ id: ids.fhir }));
    const bundle = await sendFhir(service, '/fhir', {
      resourceType: 'Bundle',
      type: 'batch',
      entry: [
        {
          resource: fhirPatient({ id: ids.bundle }),
          request: { method: 'PUT', url: `Patient/${ids.bundle}` },
        },
      ],
    });
    const person: [string, Record<number, string>] = ['PID', { 3: ids.hl7, 5: 'Diaz^Ada', 7: '19710502' }];
    const hl7 = await service.send('/hl7/v2', {
      method: 'POST',
      headers: { 'content-type': 'application/hl7-v2' },
      body: hl7Message('ADT^A28', [person]),
    });
    const [first] = rest.body.warnings ?? [];
    return {
      rest: `${rest.status} ${rest.body.code ?? [rest.body.outcome, first?.message.split(':')[0] ?? ''].join(' ')}`.trim(),
      batch,
      judged,
      fhir: `${fhir.status} ${fhir.text.includes('previously_erased')}`,
      bundle: bundle.body.entry[0].response.status.slice(0, 3),
      hl7: /MSA\|(..)/.exec(hl7.text)?.[1] ?? hl7.text,
    };
  }

  const choose = (choice: string, client = admin) =>
    client.send('/integration/returned', {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ choice }),
    });
  const returned = async () => (await officer.get('/integration/returned')).body;
  const states = async () =>
    Object.fromEntries(
      (await returned()).items.map(({ id, state }: { id: string; state: string }) => [id, state]),
    );
  const all = (state: string) => Object.fromEntries(Object.values(ids).map((id) => [id, state]));
  const messages = async () => JSON.parse((await cli('messages', 'list', '--json')).stdout).length;

  async function erase(...erased: string[]) {
    for (const id of erased)
      expect(await cli('records', 'erase', 'patient', id, '--reason', 'Asked')).toMatchObject({ code: 0 });
    // The service learns of erasures by other processes within a second.
    await eventually(async () => {
      for (const id of erased) {
        const visit = samples.encounter(id);
        expect((await service.post('/integration/encounters', visit)).body.code).toBe('reference_not_found');
      }
    });
  }

  test('a workspace refuses what was erased, over each interface, and keeps nothing of it', async () => {
    await sendAll();
    await erase(...Object.values(ids));
    expect((await choose('refuse')).status).toBe(200);
    const kept = await messages();
    const appended = await appendedBy(service, async () => {
      expect(await sendAll()).toEqual({
        rest: '410 previously_erased',
        ...{ batch: 'previously_erased', judged: 'previously_erased' },
        ...{ fhir: '410 false', bundle: '410', hl7: 'AE' },
      });
      // From then on nothing is noted.
      await sendAll();
    });
    const noted = Object.values(ids).map((id) => `clinic.return-patient%2F${id}: RecordReturnRefused`);
    expect(appended.filter(isOfRecords).toSorted()).toEqual(noted.toSorted());
    expect(await messages()).toBe(kept);
    expect(await states()).toEqual(all('refused'));
    const { choice, items } = await returned();
    expect(choice).toBe('refuse');
    expect(items[0]).toMatchObject({
      principal: { type: 'api_key', name: 'Test key' },
      version: null,
      decided: null,
    });
  });

  test('what has to be decided waits, and one that may return has to be sent again', async () => {
    await choose('review');
    expect(await sendAll()).toEqual({
      rest: '409 return_pending',
      ...{ batch: 'return_pending', judged: 'return_pending' },
      ...{ fhir: '409 false', bundle: '409', hl7: 'AE' },
    });
    expect(await states()).toEqual(all('waiting'));
    const paged: string[] = [];
    for (let token: string | null = ''; token !== null; ) {
      const { body } = await officer.get(`/integration/returned?limit=4${token && `&page_token=${token}`}`);
      paged.push(...body.items.map(({ id }: { id: string }) => id));
      token = body.next_page_token;
    }
    expect(paged).toEqual((await returned()).items.map(({ id }: { id: string }) => id));
    expect((await officer.get('/integration/returned?page_token=x')).status).toBe(400);
    for (const id of Object.values(ids)) {
      const body = { kind: 'patient', id, decision: 'allow', reason: 'Erased by mistake' };
      expect((await admin.post('/integration/returned/decisions', body)).status).toBe(200);
    }
    expect(await states()).toEqual(all('allowed'));
    expect(await sendAll()).toEqual({
      rest: '200 created previously_erased',
      ...{ batch: 'created previously_erased', judged: 'created previously_erased' },
      ...{ fhir: '201 true', bundle: '201', hl7: 'AA' },
    });
    expect(await states()).toEqual(all('returned'));
    const appended = await appendedBy(service, async () => {
      expect((await service.post('/integration/patients', patient(ids.rest))).body).toMatchObject({
        outcome: 'updated',
      });
    });
    expect(appended.filter(isOfRecords)).toEqual([`clinic.patient-${ids.rest}: PatientUpserted`]);
  });

  test('the next erasure ends a decision; one that is refused stays so where the others wait', async () => {
    await erase(ids.rest, ids.batch);
    const refused = ['records', 'decide-return', 'patient', ids.rest, 'refuse', '--reason', 'Asked twice'];
    expect(await cli(...refused)).toMatchObject({ code: 0, stderr: '' });
    expect(await appendedBy(service, () => cli(...refused))).toEqual([]);
    // A dry run notes nothing.
    const trial = await appendedBy(service, async () => {
      expect(await inBatch(ids.batch, '?dry_run=true')).toBe('return_pending');
    });
    expect(trial.filter(isOfRecords)).toEqual([]);
    expect(await sendAll()).toMatchObject({ rest: '410 previously_erased', batch: 'return_pending' });
    expect(await states()).toEqual({ ...all('returned'), [ids.rest]: 'refused', [ids.batch]: 'waiting' });
    const listed: { id: string }[] = JSON.parse((await cli('records', 'returned', '--json')).stdout);
    expect(listed.find(({ id }) => id === ids.rest)).toMatchObject({
      state: 'refused',
      decided: { decision: 'refuse', reason: 'Asked twice' },
    });
    await choose('allow');
    const allowed = { ...all('returned'), [ids.rest]: 'allowed', [ids.batch]: 'allowed' };
    await eventually(async () => expect(await states()).toEqual(allowed));
    await choose('review');
    // A new patient is stored as ever.
    expect(await inBatch(phi('new'))).toBe('created');
    expect((await service.post('/integration/patients', samples.patient())).status).toBe(200);
  });

  test('a choice that is set again in a repeat is made once, where its first try was still under way', async () => {
    const workspace = service.workspaceId('repeated');
    await service.createKey('repeated');
    const id = uuidv7();
    const events = await newEvents(service, async () => {
      await service.keys.setReturns(workspace, 'review', id);
      await service.keys.setReturns(workspace, 'allow');
      await service.keys.setReturns(workspace, 'review', id);
    });
    const choices = events
      .filter(({ type }) => type === 'WorkspaceReturnsSet')
      .map(({ data }) => data.returns);
    expect(choices).toEqual(['review', 'allow']);
  });

  test('what cannot be decided or set is refused, and appends nothing', async () => {
    const known = samples.patient();
    await service.post('/integration/patients', known);
    const body = { kind: 'patient', id: known.id, decision: 'allow', reason: 'Asked' };
    const decide = (more: object) => admin.post('/integration/returned/decisions', { ...body, ...more });
    const appended = await appendedBy(service, async () => {
      expect(await decide({})).toMatchObject({ status: 409, body: { code: 'conflict' } });
      expect(await decide({ id: 'none' })).toMatchObject({ status: 404 });
      expect(await decide({ id: ids.rest, reason: ' ' })).toMatchObject({ status: 400 });
      expect(await decide({ decision: 'review' })).toMatchObject({ status: 400 });
      expect(await choose('later')).toMatchObject({ status: 400 });
      expect(await choose('review')).toMatchObject({ status: 200 });
      expect(await choose('allow', officer)).toMatchObject({ status: 403 });
    });
    expect(appended.filter(isOfRecords)).toEqual([]);
  });

  test('a form without a choice is refused, and changes none', async () => {
    const workspace = service.workspaceId('clinic');
    const { visitor } = await signedIn(service, 'admin', workspace);
    await visitor.get('/account');
    await choose('refuse');
    const appended = await appendedBy(service, async () => {
      for (const choice of ['', 'later'])
        expect((await visitor.post(`/workspaces/${workspace}/returned`, { choice })).status).toBe(400);
    });
    expect(appended.filter(isOfRecords)).toEqual([]);
    expect((await returned()).choice).toBe('refuse');
  });

  test('what a merge says of an erased patient is listed as waiting, like any other write', async () => {
    const [survivor, other] = [phi('survivor'), phi('other')];
    await choose('review');
    for (const id of [survivor, other]) await service.post('/integration/patients', patient(id));
    await erase(survivor);
    const send = (control: string) =>
      service.send('/hl7/v2', {
        method: 'POST',
        headers: { 'content-type': 'application/hl7-v2' },
        body: hl7Message(
          'ADT^A40^ADT_A39',
          [
            ['PID', { 3: survivor, 5: 'Diaz^Ada', 7: '19710502' }],
            ['MRG', { 1: other }],
          ],
          { 10: control },
        ),
      });
    const appended = await appendedBy(service, async () => {
      expect((await send('M-1')).text).toContain('MSA|AE');
      expect((await send('M-2')).text).toContain('MSA|AE');
    });
    expect(appended.filter(isOfRecords)).toEqual([
      `clinic.return-patient%2F${survivor}: RecordReturnRefused`,
    ]);
    expect(await states()).toMatchObject({ [survivor]: 'waiting' });
  });

  test('lines of one record in a batch are written in their order, and none of them when it may not return', async () => {
    await choose('review');
    const id = phi('lines');
    await service.post('/integration/patients', patient(id));
    await erase(id);
    const line = (more: object, city: string) =>
      JSON.stringify({ kind: 'patient', record: { ...patient(id), city }, ...more });
    const send = async (...lines: string[]) => {
      const answer = await service.send('/integration/batch', {
        method: 'POST',
        headers: { 'content-type': 'application/x-ndjson' },
        body: `${lines.join('\n')}\n`,
      });
      const results = answer.text.trim().split('\n').slice(0, lines.length);
      return results.map((text) => JSON.parse(text)).map(({ code, outcome }) => code ?? outcome);
    };
    const appended = await appendedBy(service, async () => {
      const refused = await send(line({}, 'First'), line({ if_match: '*' }, 'Second'));
      expect(refused).toEqual(['return_pending', 'version_conflict']);
    });
    expect(appended.filter(isOfRecords)).toEqual([`clinic.return-patient%2F${id}: RecordReturnRefused`]);
    const body = { kind: 'patient', id, decision: 'allow', reason: 'Erased by mistake' };
    await admin.post('/integration/returned/decisions', body);
    expect(await send(line({}, 'First'), line({ if_match: '*' }, 'Second'))).toEqual(['created', 'updated']);
    expect((await service.get(`/integration/patients/${id}`)).body.record.city).toBe('Second');
  });
});
