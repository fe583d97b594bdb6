import { afterAll, beforeAll, expect, test } from 'vitest';
import { expectDocumented, fetchDocument } from '../support/openapi.ts';
import { phi } from '../support/output.ts';
import {
  billedPath,
  type Claim,
  freshClaim,
  inWorkspace,
  readiness,
  sendClaim,
  sendLater,
  worklist,
} from '../support/readiness.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { appendedBy, sharedService, type TestService } from '../support/service.ts';

const statuses = [{ category: 'A7', code: '562', entity: '85' }];
const rejected = { source: '277CA', outcome: 'rejected', statuses };

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  const report = (claim: Claim, claimId: string, body: object) =>
    service.post(`${billedPath(claim)}/${claimId}/outcome`, body);
  const bill = async (claim: Claim, claim_id = phi('claim')) => {
    expect((await service.post(billedPath(claim), { claim_id })).status).toBe(200);
    return claim_id;
  };
  const billedClaim = async (changes = {}) => {
    const claim = freshClaim(changes);
    await sendClaim(service, claim);
    return { claim, claimId: await bill(claim) };
  };
  const streamOf = ({ encounter }: Claim) => `clinic.readiness-${encodeURIComponent(String(encounter.id))}`;
  const item = async ({ encounter, payer }: Claim, query = '') =>
    (await worklist(service, `&payer_id=${payer.id}${query}`)).items.find(({ id }) => id === encounter.id);

  test('a claim that is rejected makes the encounter so, with the codes as sent, until it is billed again', async () => {
    const { claim, claimId } = await billedClaim();
    const openapi = await fetchDocument(service);
    const appended = await appendedBy(service, async () => {
      const first = await report(claim, claimId, rejected);
      expectDocumented(openapi, 'reportClaimOutcome', first);
      expect(first).toMatchObject({ status: 200, body: { version: 1, outcome: 'created' } });
      expect((await report(claim, claimId, rejected)).body.outcome).toBe('unchanged');
    });
    expect(appended).toEqual([`${streamOf(claim)}: ClaimOutcomeReported`]);
    const { state, billed } = await readiness(service, claim);
    expect([state, billed]).toMatchObject([
      'rejected',
      { claim_id: claimId, outcome: { ...rejected, principal: { name: 'Test key' } } },
    ]);
    expect(await item(claim, '&state=rejected')).toMatchObject({
      billed: { claim_id: claimId, outcome: 'rejected' },
    });
    await bill(claim);
    expect((await readiness(service, claim)).state).toBe('ready');
    // What is reported late of the former claim is kept, and changes nothing.
    const paid = { source: '835', outcome: 'paid', payer_claim_number: phi('icn') };
    expect((await report(claim, claimId, paid)).body.outcome).toBe('created');
    expect(await readiness(service, claim)).toMatchObject({ state: 'ready' });
    expect((await readiness(service, claim)).billed).not.toHaveProperty('outcome');
    expect((await item(claim))?.billed).toMatchObject({ outcome: null });
  });

  test('one that was rejected was not filed in time, and does not keep a repeated visit from being billed; a denied one does', async () => {
    const { claim, claimId } = await billedClaim();
    const limit = ['readiness', 'set-filing-limit', '9999', '--payer', String(claim.payer.id)];
    expect(await inWorkspace(service, ...limit)).toMatchObject({ code: 0 });
    const twin = { ...claim, encounter: { ...claim.encounter, id: phi('encounter') } };
    await sendClaim(service, twin, 'encounter');
    const isBlocked = async () =>
      (await readiness(service, twin)).found.includes('duplicate_of_billed encounter.date_of_service');
    const filing = async () => (await item(claim))?.filing;
    expect([await isBlocked(), await filing()]).toEqual([true, null]);
    await report(claim, claimId, rejected);
    expect([await isBlocked(), await filing()]).toEqual([
      false,
      { limit: 'P9999D', last_day: '2053-07-29', days_left: expect.any(Number) },
    ]);
    const denied = {
      source: '835',
      outcome: 'denied',
      adjustments: [{ group: 'CO', code: '29' }],
      remarks: ['N211'],
    };
    expect((await report(claim, claimId, denied)).body.outcome).toBe('updated');
    expect(await isBlocked()).toBe(true);
    expect((await readiness(service, claim)).state).toBe('rejected');
  });

  test('the scorecard says what no rule had found, and who had written what the code is about', async () => {
    const { claim, claimId } = await billedClaim();
    await report(claim, claimId, rejected);
    const warned = await billedClaim({ provider: { taxonomy_code: undefined } });
    await report(warned.claim, warned.claimId, rejected);
    await sendLater(service, claim, 'provider', { city: phi('Lincoln') });
    const card = async () => {
      const { stdout } = await inWorkspace(service, 'readiness', 'scorecard', '--format', 'json');
      return JSON.parse(stdout).rejections as Record<string, unknown>[];
    };
    await worklist(service);
    expect(await card()).toContainEqual({
      principal: { type: 'api_key', id: expect.any(String), name: 'Test key' },
      ...{ source: '277CA', outcome: 'rejected', code: 'A7 562', kind: 'provider' },
      // One of each of the tests above, and two of this one: the rules had warned of one of the providers.
      ...{ claims: 4, uncaught: 3 },
    });
    expect((await inWorkspace(service, 'readiness', 'scorecard')).stdout).toContain('rejected (277CA)');
  });

  test('what is no code, or of no claim of the encounter, is refused', async () => {
    const { claim, claimId } = await billedClaim();
    const refused: [string, object, number, string[]][] = [
      ['other', rejected, 404, []],
      [claimId, { outcome: 'rejected' }, 400, ['source']],
      [claimId, { ...rejected, outcome: 'lost' }, 400, ['outcome']],
      [claimId, { ...rejected, statuses: [{ category: 'A7', code: 'text' }] }, 400, ['statuses.0.code']],
      [claimId, { ...rejected, statuses: [] }, 400, ['statuses']],
      [claimId, { ...rejected, statuses: Array(101).fill(statuses[0]) }, 400, ['statuses']],
      [claimId, { ...rejected, remarks: ['A text'] }, 400, ['remarks.0']],
      [claimId, { ...rejected, adjustments: [{ group: 'C', code: '16' }] }, 400, ['adjustments.0.group']],
      [claimId, { ...rejected, description: 'Invalid' }, 400, ['description']],
    ];
    const openapi = await fetchDocument(service);
    const appended = await appendedBy(service, async () => {
      for (const [id, body, status, fields] of refused) {
        const answer = await report(claim, id, body);
        const details = (answer.body.details ?? []).map(({ field }: { field: string }) => field);
        expect([answer.status, details]).toEqual([status, fields]);
        expectDocumented(openapi, 'reportClaimOutcome', answer);
      }
      expect((await report(freshClaim(), claimId, rejected)).status).toBe(404);
    });
    expect(appended).toEqual([]);
  });
});
