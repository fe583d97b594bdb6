import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.ts';
import { signedIn } from '../support/dashboard.ts';
import { bundle, fhirEncounter, fhirPatient, freshId, referTo, sendFhir } from '../support/fhir.ts';
import { inStores } from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, changesBy, type TestService } from '../support/service.ts';

import { hl7Message } from './hl7Messages.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  const folder = temporaryFolder();
  beforeAll(async () => {
    service = await start();
    await service.createKey('clinic');
  });
  afterAll(() => service.stop());

  const cli = (...args: string[]) =>
    inStores(service, 'messages', ...args, '--workspace', service.workspaceId('clinic'));
  async function correct(id: string, content: string, ...args: string[]) {
    const file = join(folder, freshId('correction'));
    writeFileSync(file, content);
    const { code, stdout, stderr } = await cli('correct', id, '--file', file, '--json', ...args);
    return { code, stderr, ...(stdout && JSON.parse(stdout)) };
  }
  const listed = async (...args: string[]): Promise<{ id: string; state: string; corrected_by?: string }[]> =>
    JSON.parse((await cli('list', '--json', ...args)).stdout);
  const waiting = async () => (await listed('--rejected')).map(({ id }) => id);
  const person = (id: string, born: string, family = 'Lopez') =>
    hl7Message('ADT^A28', [['PID', { 3: id, 5: `${family}^Ana`, 7: born }]], { 10: freshId('C') });
  async function send(body: string, code: 'AA' | 'AE'): Promise<string> {
    const headers = { 'content-type': 'application/hl7-v2' };
    const { text } = await service.send('/hl7/v2', { method: 'POST', headers, body });
    expect(text).toContain(`MSA|${code}|`);
    return (await listed('--limit', '1'))[0]?.id ?? '';
  }
  const familyOf = async (id: string) =>
    (await service.get(`/integration/patients/${id}`)).body.record.last_name;

  test('a correction is carried out as a message of its own; the message stays as it came, and waits no more', async () => {
    const id = freshId('patient');
    const wrong = person(id, 'soon');
    const right = wrong.replace('soon', '19840229');
    const original = await send(wrong, 'AE');
    expect(await waiting()).toContain(original);
    const before = (await listed()).length;
    const tried = await changesBy(service, async () => {
      expect(await correct(original, right, '--dry-run')).toMatchObject({
        ...{ code: 0, id: null, state: 'accepted', about: [{ kind: 'patient', id, outcome: 'created' }] },
      });
    });
    expect([tried, (await listed()).length]).toEqual([[], before]);
    let correction = '';
    let accesses: unknown[] = [];
    const events = await changesBy(service, async () => {
      accesses = await accessesBy(service, async () => {
        const corrected = await correct(original, right);
        expect(corrected).toMatchObject({ code: 0, state: 'accepted', corrects: original });
        correction = corrected.id;
      });
    });
    expect(events).toMatchObject([
      {
        ...{ type: 'PatientUpserted', data: { id, date_of_birth: '1984-02-29' } },
        metadata: { principal: { type: 'operator' }, source: { id: 'default', message: correction } },
      },
    ]);
    expect(accesses).toMatchObject([{ action: 'message.read', query: { message: original, raw: true } }]);
    expect(await waiting()).not.toContain(original);
    expect((await cli('show', original, '--raw')).stdout).toBe(wrong);
    expect((await cli('show', correction, '--raw')).stdout).toBe(right);
    expect((await cli('show', original)).stdout).toContain(`corrected_by  ${correction}`);
    expect((await cli('show', correction)).stdout).toContain(`corrects      ${original}`);
    const { visitor } = await signedIn(service, 'admin');
    const page = async (message: string) =>
      (await visitor.get(`/workspaces/${service.workspaceId('clinic')}/messages/${message}`)).text;
    expect(await page(original)).toContain(`/messages/${correction}"><code dir="auto">`);
    expect(await page(original)).not.toContain('chartledger messages resend');
    expect(await page(correction)).toContain(`/messages/${original}"><code dir="auto">`);
    const again = await changesBy(service, async () => {
      expect(await correct(original, right.replace('Ana', 'Eva'))).toMatchObject({
        ...{
          code: 1,
          stderr: `The message was already corrected by ${correction}. Correct that one instead.\n`,
        },
      });
      expect(await correct(correction, right.replace('Ana', 'Eva'))).toMatchObject({
        ...{
          code: 1,
          stderr: expect.stringContaining('The message was fully accepted. To change the result, change'),
        },
      });
      const resent = await cli('resend', original);
      expect(resent.stdout).toContain(`skipped. It was corrected by ${correction}.`);
    });
    expect(again).toEqual([]);
  });

  test('it has the place of the message: what came later stays, unless that is forced', async () => {
    const id = freshId('patient');
    const wrong = person(id, 'soon');
    const right = wrong.replace('soon', '19840229');
    const original = await send(wrong, 'AE');
    await send(person(id, '19840229', 'Newer'), 'AA');
    let correction = '';
    const events = await changesBy(service, async () => {
      const corrected = await correct(original, right);
      expect(corrected).toMatchObject({ code: 1, state: 'rejected', problems: [{ severity: 'error' }] });
      correction = corrected.id;
    });
    expect([events, await familyOf(id)]).toEqual([[], 'Newer']);
    expect(await waiting()).toEqual(expect.arrayContaining([correction]));
    // Sent again it still has that place, and so has a correction of the correction.
    expect(await changesBy(service, () => cli('resend', correction))).toEqual([]);
    const second = await correct(correction, right.replace('Lopez', 'Third'), '--force');
    expect(second).toMatchObject({ code: 0, state: 'accepted', corrects: correction });
    expect(await familyOf(id)).toBe('Third');
    expect(await waiting()).not.toContain(correction);
  });

  test('what was sent before it does not keep a correction back', async () => {
    const id = freshId('patient');
    await send(person(id, '19840229', 'Older'), 'AA');
    const wrong = person(id, 'soon');
    const original = await send(wrong, 'AE');
    expect(await correct(original, wrong.replace('soon', '19840229'))).toMatchObject({ state: 'accepted' });
    expect(await familyOf(id)).toBe('Lopez');
  });

  test('a bundle is corrected as well; what is no form of the message is refused, and kept nowhere', async () => {
    const patient = fhirPatient({ birthDate: 'soon' });
    const sent = bundle('transaction', patient, fhirEncounter(referTo(patient)));
    expect((await sendFhir(service, '/fhir', sent)).status).toBe(400);
    const [original = ''] = await waiting();
    const before = (await listed()).length;
    const refused = await changesBy(service, async () => {
      for (const [content, message] of [
        ['{', 'The correction must be JSON, like the original message.'],
        [JSON.stringify(sent), 'The correction is identical to the original message. If nothing'],
      ] as const) {
        expect(await correct(original, content)).toMatchObject({
          ...{ code: 1, stderr: expect.stringContaining(message) },
        });
      }
    });
    expect([refused, (await listed()).length]).toEqual([[], before]);
    const events = await changesBy(service, async () => {
      const content = JSON.stringify(sent).replace('soon', '1984-02-29');
      expect(await correct(original, content)).toMatchObject({ code: 0, state: 'accepted' });
    });
    expect(events.map(({ type }) => type)).toEqual(['PatientUpserted', 'EncounterUpserted']);
    const two = person(freshId('one'), 'soon');
    const hl7 = await send(two, 'AE');
    expect(await correct(hl7, `${two}\r${two}`)).toMatchObject({
      ...{ code: 1, stderr: 'The correction must be exactly one message.\n' },
    });
    expect(await correct(hl7, 'no message')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('MSH'),
    });
    expect(await waiting()).toContain(hl7);
  });

  test('both go when the record is erased of which the correction tells', async () => {
    const id = freshId('patient');
    const wrong = hl7Message('ADT^A28', [['PID', { 5: 'Lopez^Ana', 7: '19840229' }]]);
    const original = await send(wrong, 'AE');
    const corrected = await correct(original, wrong.replace('PID|||', `PID|||${id}`));
    expect(corrected).toMatchObject({ code: 0, state: 'accepted', about: [{ kind: 'patient', id }] });
    const { visitor: admin } = await signedIn(service, 'admin');
    const path = `/workspaces/${service.workspaceId('clinic')}/records/patients/${id}/erase`;
    await admin.get(path);
    expect((await admin.post(path, { record_id: id, reason: 'Asked' })).status).toBe(303);
    const left = (await listed()).map((one) => one.id);
    expect(left).not.toContain(original);
    expect(left).not.toContain(corrected.id);
  });
});
