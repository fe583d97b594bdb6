import { afterAll, beforeAll, expect, test } from 'vitest';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import {
  bundle,
  fhirCoverage,
  fhirEncounter,
  fhirPatient,
  fhirPayer,
  freshId,
  referTo,
  sendFhir,
} from '../support/fhir.ts';
import { inStores } from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, changesBy, type TestService } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let admin: BrowserlessSession;
  let root: string;
  beforeAll(async () => {
    service = await start();
    root = `/workspaces/${service.workspaceId('clinic')}`;
    ({ visitor: admin } = await signedIn(service, 'admin'));
  });
  afterAll(() => service.stop());

  const cli = (...args: string[]) => inStores(service, ...args, '--workspace', service.workspaceId('clinic'));
  const shown = async (path: string) => {
    const { status, text } = await admin.get(root + path);
    expect([path, status]).toEqual([path, 200]);
    return text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ');
  };
  const [patient, visit] = [freshId('patient'), freshId('visit')];
  const sent = (family: string) =>
    hl7Message('ADT^A01', [
      ['PID', { 3: patient, 5: `${family}^Ana`, 7: '19840229' }],
      ['PV1', { 2: 'O', 19: visit }],
    ]);
  const admit = (message: string) =>
    service.send('/hl7/v2', {
      method: 'POST',
      headers: { 'content-type': 'application/hl7-v2' },
      body: message,
    });
  /** The id of the message of a record's newest version. */
  async function messageOf(path: string): Promise<string> {
    const { body } = await service.get(`/integration/${path}/history`);
    return body.items[0].source.message;
  }

  test('the command tells the fields of a message, with an access, and nothing is written', async () => {
    await admit(sent('Lopez'));
    const id = await messageOf(`patients/${patient}`);
    let stdout = '';
    const accesses = await accessesBy(service, async () => {
      const events = await changesBy(service, async () => {
        ({ stdout } = await cli('messages', 'show', id, '--fields'));
      });
      expect(events).toEqual([]);
    });
    expect(stdout).toContain(`patient ${patient}\n`);
    expect(stdout).toContain('  last_name = "Lopez"  from PID^1^5^1^1 (rule patient.name)\n');
    expect(stdout).toContain('  visit_type = "outpatient"  from PV1^1^2^1^1 (rule encounter.class)\n');
    expect(accesses).toMatchObject([
      { action: 'message.read', query: { message: id, raw: true }, shown: { count: 2 } },
    ]);
    expect(await cli('messages', 'show', freshId('none'), '--fields')).toMatchObject({
      ...{ code: 1, stdout: '', stderr: 'Message not found.\n' },
    });
  });

  test('the pages of the message and of a field tell place and rule, of the version that the message made', async () => {
    await admit(sent('Gomez'));
    const id = await messageOf(`patients/${patient}`);
    const accesses = await accessesBy(service, async () => {
      const page = await shown(`/messages/${id}?fields=shown`);
      expect(page).toContain(
        'Last name "Gomez" PID^1^5^1^1 rule patient.name : PID-5: one with family and given name'.replaceAll(
          '"',
          '',
        ),
      );
    });
    expect(accesses).toMatchObject([
      { action: 'message.read', query: { message: id, raw: true } },
      // The names of what it is about.
      ...['encounter', 'patient'].map((kind) => ({ action: 'record.list', kind, query: { fields: 'name' } })),
    ]);
    expect(await shown(`/messages/${id}`)).not.toContain('PID^1^5^1^1');
    const reads = await accessesBy(service, async () => {
      const page = await shown(`/records/patients/${patient}/fields/last_name`);
      expect(page.match(/PID\^1\^5\^1\^1/g)).toHaveLength(2);
      expect(page).toContain(`message ${id}`);
    });
    expect(reads).toMatchObject([{ action: 'record.history', record_id: patient }]);
  });

  test('of a bundle the entry is named', async () => {
    const [one, insurer] = [fhirPatient(), fhirPayer()];
    const coverage = fhirCoverage(referTo(one), referTo(insurer), { subscriberId: 'S-1' });
    const all = bundle('transaction', coverage, one, insurer, fhirEncounter(referTo(one)));
    expect((await sendFhir(service, '/fhir', all)).status).toBe(200);
    const path = `/records/patients/${one.id}/fields`;
    expect(await shown(`${path}/last_name`)).toContain(
      'Bundle.entry[1].resource.name[0].family rule person.name',
    );
    const field = encodeURIComponent('primary_insurance.policy_number');
    expect(await shown(`${path}/${field}`)).toContain('Bundle.entry[0].resource.subscriberId rule coverage');
  });

  test('a message that went with another record is told as kept no more', async () => {
    await admin.get(`${root}/records/encounters/${visit}/erase`);
    const form = { record_id: visit, reason: 'Asked' };
    expect((await admin.post(`${root}/records/encounters/${visit}/erase`, form)).status).toBe(303);
    const page = await shown(`/records/patients/${patient}/fields/last_name`);
    expect(page).toContain('The message is no longer kept.');
    expect(page).not.toContain('PID^1^5^1^1');
  });
});
