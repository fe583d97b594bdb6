import { afterAll, beforeAll, expect, test } from 'vitest';
import type { DisclosedRange } from '../../src/domain/events/payloads.ts';
import { type BrowserlessSession, signedIn } from '../support/dashboard.ts';
import { phi } from '../support/output.ts';
import {
  billedPath,
  type Claim,
  freshClaim,
  inWorkspace,
  readiness,
  sendClaim,
  sendLater,
} from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, changesBy, type TestService } from '../support/service.ts';

onEmbeddedEngines((start) => {
  let service: TestService;
  let visitor: BrowserlessSession;
  let userId: string;
  beforeAll(async () => {
    service = await start();
    ({ visitor, id: userId } = await signedIn(service, 'compliance'));
  });
  afterAll(() => service.stop());

  const pathOf = (plural: string, { id }: Record<string, unknown>) =>
    `/workspaces/${service.workspaceId('clinic')}/records/${plural}/${encodeURIComponent(String(id))}`;
  const pageOf = ({ encounter }: Claim) => pathOf('encounters', encounter);
  const questionOf = (claim: Claim) => `${pageOf(claim)}/billed/acknowledge`;
  const show = async (path: string) => {
    const { status, text } = await visitor.get(path);
    expect([path, status]).toEqual([path, 200]);
    return text;
  };
  /** What the form of the question was shown for. */
  const versionsIn = (text: string) => /name="versions" value="([\d.]+)"/.exec(text)?.[1] ?? '';
  const answer = async (claim: Claim, reason: string, versions: string) => {
    const { status, text, headers } = await visitor.post(questionOf(claim), { reason, versions });
    return { status, text, location: headers.location };
  };
  const billed = async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const claimId = phi('claim');
    expect((await service.post(billedPath(claim), { claim_id: claimId })).status).toBe(200);
    return { claim, claimId };
  };
  const movePatient = (claim: Claim) => sendLater(service, claim, 'patient', { city: phi('Lincoln') });
  const button = (claim: Claim) => `href="/dashboard${questionOf(claim)}">Acknowledge changes</a>`;

  test('the history of an insurance names the field of it that changed', async () => {
    const { claim } = await billed();
    const insurance = claim.patient.primary_insurance as Record<string, unknown>;
    const changed = { primary_insurance: { ...insurance, policy_number: phi('W990') } };
    await sendLater(service, claim, 'patient', changed);
    const text = await show(`${pathOf('patients', claim.patient)}/fields/primary_insurance`);
    // Of the first version, and of the one that changed nothing else.
    expect(text.match(/<dt>[^<]*policy number/gi)).toHaveLength(2);
  });

  test('the page of an encounter tells what was billed, and what has changed since', async () => {
    const { claim, claimId } = await billed();
    const before = await show(pageOf(claim));
    expect(before).toContain(`<code dir="auto">${claimId}</code>`);
    expect(before).toContain('<strong><bdi>Test key</bdi></strong>');
    const patient = `href="/dashboard${pathOf('patients', claim.patient)}`;
    expect(before).toContain(`${patient}?version=1">Patient, version 1</a>`);
    expect(before).toContain('Nothing in the claim has changed since it was billed.');
    expect(before).not.toContain(button(claim));
    const { city } = claim.patient;
    const since = await movePatient(claim);
    let after = '';
    const accesses = await accessesBy(service, async () => {
      expect(await appendedBy(service, async () => (after = await show(pageOf(claim))))).toEqual([]);
    });
    expect(after).toContain('What the claim contains has not changed since the encounter was billed');
    const [, was, is, link] =
      /<dt>Patient: City<\/dt>\s*<dd><del><bdi>(.*?)<\/bdi><\/del>.*?<ins><bdi>(.*?)<\/bdi><\/ins> (<a.*?<\/a>)/s.exec(
        after,
      ) ?? [];
    expect([was, is]).toEqual([city, expect.stringContaining('Lincoln')]);
    expect(link).toBe(`<a ${patient}/compare?from=1&amp;to=2">Versions 1 and 2</a>`);
    expect(after).toContain(button(claim));
    const { shown } = accesses.find(({ action }) => action === 'record.readiness') ?? {};
    const kinds = (shown as unknown as DisclosedRange).things?.map(({ kind }) => kind);
    expect(kinds?.toSorted()).toEqual(['encounter', 'facility', 'patient', 'payer', 'provider']);
    // As it was, it can be read, and not judged.
    const then = await show(`${pageOf(claim)}?as_of=${since}`);
    expect(then).toContain('Versions 1 and 2</a>');
    expect(then).not.toContain(button(claim));
    // Where the rule is off, the difference is there all the same.
    await inWorkspace(service, 'readiness', 'set', 'changed_after_billing', 'off');
    expect(await show(pageOf(claim))).toContain('Versions 1 and 2</a>');
    await inWorkspace(service, 'readiness', 'set', 'changed_after_billing', 'default');
  });

  test('who may see the change says there why it may stay', async () => {
    const { claim } = await billed();
    await movePatient(claim);
    let question = '';
    const accesses = await accessesBy(service, async () => {
      expect(await appendedBy(service, async () => (question = await show(questionOf(claim))))).toEqual([]);
    });
    expect(accesses).toMatchObject([
      { action: 'record.readiness', record_id: claim.encounter.id },
      { action: 'record.list', kind: 'encounter', query: { fields: 'name' } },
      { action: 'record.list', kind: 'patient', query: { fields: 'name' } },
    ]);
    expect(question).toContain('Versions 1 and 2</a>');
    const reason = phi('Accepted as it was');
    await movePatient(claim);
    const refused = await appendedBy(service, async () => {
      expect(await answer(claim, ' ', versionsIn(question))).toMatchObject({
        status: 400,
        text: expect.stringContaining('id="reason-error"'),
      });
      const late = await answer(claim, reason, versionsIn(question));
      expect(late).toMatchObject({
        status: 409,
        text: expect.stringContaining('Something else has changed in the meantime'),
      });
      question = late.text;
    });
    expect(refused).toEqual([]);
    expect(question).toContain('Versions 1 and 3</a>');
    const events = await changesBy(service, async () => {
      for (const _ of ['first', 'again']) {
        expect(await answer(claim, reason, versionsIn(question))).toMatchObject({
          status: 303,
          location: `/dashboard${pageOf(claim)}`,
        });
      }
    });
    expect(events).toMatchObject([
      {
        type: 'BillingChangeAcknowledged',
        data: { encounter_id: claim.encounter.id, reason },
        metadata: { principal: { type: 'user', id: userId } },
      },
    ]);
    const page = await show(pageOf(claim));
    expect(page).toContain(reason);
    expect(page).toContain('Nothing in the claim has changed since it was acknowledged.');
    const { found, billed: told } = await readiness(service, claim);
    expect(found).toEqual([]);
    expect(told?.acknowledged).toMatchObject({ reason, principal: { type: 'user', id: userId } });
  });

  test('where there is nothing to judge, nothing is recorded', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const question = await show(questionOf(claim));
    expect(question).toContain('It has not been billed.');
    expect(question).not.toContain('name="reason"');
    const appended = await appendedBy(service, async () => {
      expect(await answer(claim, phi('Known'), '1.1.1.1.1.1')).toMatchObject({ status: 409 });
      const none = await visitor.post(questionOf(freshClaim()), { reason: phi('Known') });
      expect(none.status).toBe(404);
    });
    expect(appended).toEqual([]);
  });
});
