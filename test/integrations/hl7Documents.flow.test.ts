import { afterAll, beforeAll, expect, test } from 'vitest';
import { runInWorkspace } from '../support/cli.ts';
import { freshId, inStream, writtenBy } from '../support/fhir.ts';
import { phi } from '../support/output.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';
import { sharedService } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  const cli = (...args: string[]) => runInWorkspace(service, ...args);
  const listed = async () =>
    JSON.parse((await cli('messages', 'list', '--json')).stdout) as { id: string; about: object[] }[];

  /** A visit of a patient: the messages of an EMR about it. */
  function visitOf(patient: string) {
    const visit = freshId('visit');
    const headers = { 'content-type': 'application/hl7-v2' };
    const send = async (kind: string, ...more: Parameters<typeof hl7Message>[1]) => {
      const pid: [string, Record<number, string>] = [
        'PID',
        { 3: patient, 5: `${phi('Lopez')}^Ana`, 7: '19840229' },
      ];
      const pv1: [string, Record<number, string>] = [
        'PV1',
        { 2: 'I', 3: '4A^^^ELMST', 7: '1234567893^Nguyen^Ada', 19: visit, 44: '20260314093000' },
      ];
      const body = hl7Message(kind, [pid, pv1, ...more], { 10: freshId('control') });
      return (await service.send('/hl7/v2', { method: 'POST', headers, body })).text;
    };
    const document = (text: string) =>
      send(
        'MDM^T02',
        ['TXA', { 2: 'DS', 12: 'DOC-1', 16: 'summary.pdf' }],
        [
          'OBX',
          { 2: 'ED', 5: `^Application^PDF^Base64^${Buffer.from(`%PDF-1.4 ${text}`).toString('base64')}` },
        ],
      );
    return { visit, send, document };
  }

  test('versions of a document are none of its encounter: what tells of it goes with the encounter', async () => {
    const patient = freshId('patient');
    const { visit, send, document } = visitOf(patient);
    const lines = await writtenBy(service, async () => {
      expect(await send('ADT^A01')).toContain('MSA|AA');
      for (const text of ['first', 'second', 'third']) expect(await document(text)).toContain('MSA|AA');
    });
    expect(lines.slice(-3)).toEqual([1, 2, 3].map(() => expect.stringMatching(/: DocumentUploaded$/)));
    for (const { about } of (await listed()).slice(0, 3)) {
      expect(about).toContainEqual({ kind: 'encounter', id: visit, outcome: 'left_out' });
    }
    expect(await cli('records', 'erase', 'encounter', visit, '--reason', 'Asked')).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(JSON.stringify(await listed())).not.toContain(visit);
  });

  test('a document is no newer word on its encounter', async () => {
    const patient = freshId('patient');
    const { send, document } = visitOf(patient);
    expect(await send('ADT^A01')).toContain('MSA|AA');
    const payer = freshId('payer');
    const insurance: [string, Record<number, string>] = ['IN1', { 1: '1', 3: payer, 36: 'M-1' }];
    const refused = await writtenBy(service, async () => {
      expect(await send('ADT^A08', insurance)).toContain('MSA|AE');
    });
    expect(refused).toEqual([]);
    const [{ id = '' } = {}] = await listed();
    expect(await document('first')).toContain('MSA|AA');
    await service.post('/integration/payers', { id: payer, name: 'Elm' });
    const lines = await writtenBy(service, async () => {
      expect(await cli('messages', 'resend', id)).toMatchObject({ code: 0 });
    });
    expect(lines).toEqual([`${inStream('patient', patient)}: PatientUpserted`]);
  });
});
