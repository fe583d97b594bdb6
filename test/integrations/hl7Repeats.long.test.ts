import { afterAll, beforeAll, expect, test } from 'vitest';
import { unavailable } from '../../src/platform/errors.ts';
import type { EventLog } from '../../src/storage/eventLog.ts';
import { runInWorkspace } from '../support/cli.ts';
import type { Client } from '../support/client.ts';
import { freshId } from '../support/fhir.ts';
import { onEveryEngine } from '../support/servers.ts';
import { accessesBy, appendedBy, startFaultyApp, type TestService } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  const cli = (...args: string[]) => runInWorkspace(service, ...args);
  const kept = async (
    ...args: string[]
  ): Promise<{ state: string; about: { id: string }[]; problems: object[] }[]> =>
    JSON.parse((await cli('messages', 'list', '--json', ...args)).stdout);
  const keptOf = async (id: string, ...args: string[]) =>
    (await kept(...args)).filter(({ about }) => about.some((one) => one.id === id));

  /** The acknowledgement of a message: its code, and of each ERR the code and the severity. */
  async function send(client: Client, body: string): Promise<string[]> {
    const headers = { 'content-type': 'application/hl7-v2' };
    const { status, text } = await client.send('/hl7/v2', { method: 'POST', body, headers });
    if (status !== 200) return [String(status)];
    const segments = text.split('\r').map((one) => one.split('|'));
    return segments.flatMap(([name, code = '', , condition = '', severity]) => {
      if (name === 'MSA') return [code];
      return name === 'ERR' ? [`${condition.slice(0, 3)} ${severity}`] : [];
    });
  }

  function admission(header: Record<number, string> = {}, ...insurances: [string, Record<number, string>][]) {
    const id = freshId('repeated');
    const message = (name: string, more: Record<number, string> = {}) =>
      hl7Message(
        'ADT^A04',
        [
          ['PID', { 3: id, 5: `${name}^Ada`, 7: '19840229' }],
          ['PV1', { 2: 'O', 19: `${id}-v` }],
          ...insurances,
        ],
        { 3: 'ADT1', 4: 'ELMST', 10: id, ...header, ...more },
      );
    const patient = `clinic.patient-${id}: PatientUpserted`;
    const encounter = `clinic.encounter-${id}-v: EncounterUpserted`;
    const name = async () => (await service.get(`/integration/patients/${id}`)).body.record.last_name;
    return { id, message, patient, encounter, name };
  }

  test('what was taken is acknowledged as before, and undoes nothing that came later', async () => {
    const { id, message, patient, encounter, name } = admission();
    // A gender that is none is remarked.
    const first = message('Rivera').replace('19840229', '19840229|Q');
    expect(
      await appendedBy(service, async () => expect(await send(service, first)).toEqual(['AA', '103 W'])),
    ).toEqual([patient, encounter]);
    expect(await send(service, message('Lopez', { 10: `${id}-2` }))).toEqual(['AA']);
    let counted: object[] = [];
    const appended = await appendedBy(service, async () => {
      counted = await accessesBy(service, async () => {
        expect(await send(service, first)).toEqual(['AA', '103 W']);
      });
    });
    expect([appended, counted]).toEqual([
      [],
      [expect.objectContaining({ action: 'record.unchanged', count: 2 })],
    ]);
    expect(await name()).toBe('Lopez');
    expect(await keptOf(id)).toHaveLength(2);
  });

  test('another content under the same control id is taken, and said to be', async () => {
    const { id, message, patient, name } = admission();
    await send(service, message('Rivera'));
    expect(
      await appendedBy(service, async () =>
        expect(await send(service, message('Lopez'))).toEqual(['AA', '205 W']),
      ),
    ).toEqual([patient]);
    expect(await name()).toBe('Lopez');
    expect(await keptOf(id)).toMatchObject([
      { problems: [{ code: '205', severity: 'warning', at: 'MSH^1^10' }] },
      { problems: [] },
    ]);
    // Each of the two is known by then.
    expect(await appendedBy(service, () => send(service, message('Rivera')))).toEqual([]);
    expect(await send(service, message('Lopez'))).toEqual(['AA', '205 W']);
    expect(await name()).toBe('Lopez');
  });

  test('the control id of another application, facility or workspace is another one', async () => {
    const { message } = admission();
    await send(service, message('Rivera'));
    expect(await send(service, message('Rivera', { 3: 'ADT2' }))).toEqual(['AA']);
    expect(await send(service, message('Rivera', { 4: 'OAKST' }))).toEqual(['AA']);
    const other = service.as((await service.createKey('other')).key);
    const appended = await appendedBy(service, () => send(other, message('Rivera')));
    expect(appended).toHaveLength(2);
  });

  test('of equal messages that come at once one is carried out, and all are acknowledged', async () => {
    const { id, message, patient, encounter } = admission();
    const appended = await appendedBy(service, async () => {
      const answers = await Promise.all([1, 2, 3, 4, 5, 6].map(() => send(service, message('Rivera'))));
      expect(answers.flat()).toEqual(['AA', 'AA', 'AA', 'AA', 'AA', 'AA']);
    });
    expect(appended).toEqual([patient, encounter]);
    expect(await keptOf(id)).toMatchObject([{ state: 'accepted' }]);
  });

  test('what was refused is carried out when it comes again, and waits no more', async () => {
    const { id, message, patient, encounter } = admission({}, ['IN1', { 1: '1', 3: 'payer-77' }]);
    const body = message('Rivera');
    for (let time = 0; time < 2; time += 1) {
      expect(
        await appendedBy(service, async () =>
          expect(await send(service, body)).toEqual(['AE', '204 E', '204 E']),
        ),
      ).toEqual([]);
    }
    expect(await keptOf(id, '--rejected')).toHaveLength(2);
    await service.post('/integration/payers', { id: 'payer-77', name: 'Elm Health' });
    expect(await appendedBy(service, () => send(service, body))).toEqual([patient, encounter]);
    expect(await keptOf(id, '--rejected')).toEqual([]);
    expect((await keptOf(id)).map(({ state }) => state)).toEqual(['accepted', 'rejected', 'rejected']);
    expect(await appendedBy(service, () => send(service, body))).toEqual([]);
  });

  test('what an operator sent again was taken', async () => {
    const { id, message, patient, encounter } = admission({}, ['IN1', { 1: '1', 3: 'payer-78' }]);
    await send(service, message('Rivera'));
    await service.post('/integration/payers', { id: 'payer-78', name: 'Elm Health' });
    expect(await appendedBy(service, () => cli('messages', 'resend'))).toEqual([patient, encounter]);
    expect(
      await appendedBy(service, async () => expect(await send(service, message('Rivera'))).toEqual(['AA'])),
    ).toEqual([]);
    expect(await keptOf(id)).toHaveLength(1);
  });

  test('what was cut off by an outage is carried out at once when it comes again', async () => {
    const { id, message, encounter } = admission();
    let calls = 0;
    const appendEach: EventLog['appendEach'] = async (appends) => {
      calls += 1;
      return calls > 1 ? appends.map(() => unavailable('event log')) : service.eventLog.appendEach(appends);
    };
    const app = await startFaultyApp(service, { eventLog: { appendEach } });
    try {
      expect(await send(app, message('Rivera'))).toEqual(['503']);
    } finally {
      await app.stop();
    }
    expect(await keptOf(id, '--rejected')).toMatchObject([{ state: 'received' }]);
    expect(
      await appendedBy(service, async () => expect(await send(service, message('Rivera'))).toEqual(['AA'])),
    ).toEqual([encounter]);
    expect(await keptOf(id, '--rejected')).toEqual([]);
  });

  test('what was erased with its patient is not known any more', async () => {
    const { id, message, patient, encounter } = admission();
    await send(service, message('Rivera'));
    const erased = await cli('records', 'erase', 'patient', id, '--with-encounters', '--reason', 'Asked');
    expect(erased).toMatchObject({ code: 0, stderr: '' });
    expect(await keptOf(id)).toEqual([]);
    // The patient and the encounter are back under ids that were erased.
    const warned = ['AA', '102 W', '102 W'];
    expect(
      await appendedBy(service, async () => expect(await send(service, message('Rivera'))).toEqual(warned)),
    ).toEqual([patient, encounter]);
  });
});
