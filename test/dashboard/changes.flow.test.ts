import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import { samples } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, changesBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let visitor: BrowserlessSession;
  let userId: string;
  /** The sender of the writes. */
  let sender: string;
  const patient = { ...samples.patient(), city: phi('Omaha'), state: 'NE' };
  const [bad, later] = [phi('Lincoln'), phi('Boston')];
  const encounter = { id: phi('encounter'), patient_id: patient.id };
  beforeAll(async () => {
    service = await start();
    ({ visitor, id: userId } = await signedIn(service, 'admin'));
    await service.post('/integration/patients', patient);
    const { id, key } = await service.createKey('clinic');
    sender = id;
    const client = service.as(key);
    await client.post('/integration/patients', { ...patient, city: bad, state: 'CT' });
    await client.post('/integration/encounters', encounter);
    await service.post('/integration/patients', { ...patient, city: later, state: 'MA' });
  });
  afterAll(() => service.stop());

  const path = (suffix = '', query: Record<string, string> = {}) =>
    `/workspaces/${service.workspaceId('clinic')}/changes${suffix}?${new URLSearchParams(query)}`;
  const ofSender = () => ({ principal: sender, from: '2020-01-01' });
  const show = async (address: string, status = 200) => {
    const answer = await visitor.get(address);
    expect([address, answer.status]).toEqual([address, status]);
    return answer.text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
  };

  test('the changes of a key are shown and exported, with who changed them since', async () => {
    let text = '';
    let csv = '';
    const accesses = await accessesBy(service, async () => {
      const appended = await appendedBy(service, async () => {
        text = await show(path('', ofSender()));
        csv = (await visitor.get(path('/export', { ...ofSender(), format: 'csv' }))).text;
      });
      expect(appended).toEqual([]);
    });
    expect(text).toContain(`City: ${patient.city} → ${bad} since`);
    expect(text).toContain(`${later} , version 3 by`);
    expect(text).toMatch(/Patient .* changed changed since City, State/);
    expect(
      csv
        .split('\r\n')
        .slice(0, 2)
        .map((line) => line.split(',').slice(0, 9)),
    ).toEqual([
      ['kind', 'id', 'document_id', 'created', 'erased', 'unreadable', 'field', 'from', 'to'],
      ['patient', patient.id, '', 'no', 'no', 'no', 'city', patient.city, bad],
    ]);
    const changes = accesses.filter(({ action }) => action === 'record.changes');
    expect(changes.map(({ action, kind }) => [action, kind])).toEqual(
      ['shown', 'exported'].flatMap(() => [
        ['record.changes', undefined],
        ['record.changes', 'patient'],
        ['record.changes', 'encounter'],
      ]),
    );
    const { visitor: reader } = await signedIn(service, 'compliance');
    expect((await reader.get(path('/undo/counts', ofSender()))).text).toContain(
      'An administrator can apply it.',
    );
    const refused = await appendedBy(service, async () => {
      expect(await show(path('', { principal: sender }), 400)).toContain('From (UTC) is required');
      expect(await show(path('/diff', { from: '2999-01-01' }), 400)).toContain(
        'must be before the later moment, and in the past',
      );
      expect((await reader.post(path('/undo'), ofSender())).status).toBe(403);
    });
    expect(refused).toEqual([]);
  });

  test('an undo is planned and applied, and can be undone', async () => {
    let plan = '';
    const planned = await appendedBy(service, async () => {
      plan = await show(path('/undo', ofSender()));
      plan += await show(path('/undo/counts', ofSender()));
    });
    expect(planned).toEqual([]);
    expect(plan).toContain('City stays, version 3 by');
    expect(plan).toContain('Voided, as it was created 1');
    expect(plan).toContain('Undo 1 record');
    expect(plan.indexOf('Undo 1 record')).toBeLessThan(plan.indexOf('Voided, as it was created 1'));
    let next = '';
    const events = await changesBy(service, async () => {
      const { status, headers } = await visitor.post(path('/undo'), ofSender());
      next = String(headers.location).replace('/dashboard', '');
      expect(status).toBe(303);
    });
    expect(events.map(({ type, metadata }) => [type, metadata.principal.id])).toEqual([
      ['EncounterUpserted', userId],
    ]);
    const after = await show(next);
    expect(after).toContain('1 record undone.');
    expect(after).toContain('With values from before');
    const address = new URL(next, 'http://localhost');
    expect(await show(`${address.pathname}/counts${address.search}`)).toContain('With values from before 1');
    await visitor.post(path('/undo'), Object.fromEntries(new URLSearchParams(next.split('?')[1])));
    const { body } = await service.get(`/integration/encounters/${encounter.id}`);
    expect(body.record.voided_at).toBeUndefined();
  });

  test('a page has fifty records, each once and recorded as shown, however often it was written', async () => {
    const ids = Array.from({ length: 53 }, () => phi('many'));
    const { id, key } = await service.createKey('clinic');
    const client = service.as(key);
    for (const first_name of ['Ada', 'Eve']) {
      for (const one of ids)
        await client.post('/integration/patients', { ...samples.patient(), id: one, first_name });
    }
    const query = { principal: id, from: '2020-01-01' };
    const rowsOf = (text: string) =>
      [...text.matchAll(/records\/patients\/([^"]+)"/g)].map(([, found]) =>
        decodeURIComponent(String(found)),
      );
    let first = '';
    const accesses = await accessesBy(service, async () => {
      first = (await visitor.get(path('', query))).text;
    });
    expect(rowsOf(first)).toEqual(ids.slice(0, 50));
    expect(accesses.filter(({ action }) => action === 'record.changes').at(-1)).toMatchObject({
      shown: { count: 50 },
    });
    const [, next = ''] = /href="\/dashboard([^"]+)" rel="next"/.exec(first) ?? [];
    const second = await show(next.replaceAll('&amp;', '&'));
    expect(second).not.toContain('Count the records');
    const { text } = await visitor.get(next.replaceAll('&amp;', '&'));
    expect(rowsOf(text)).toEqual(ids.slice(50));
    expect(text).not.toContain('rel="next"');
    expect(await show(path('/counts', query))).toContain('Patient 53');
    await show(next.replaceAll('&amp;', '&').replace(id, sender), 400);
  });
});
