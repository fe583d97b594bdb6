import { afterAll, beforeAll, expect, test } from 'vitest';
import { choices } from '../support/choices.ts';
import { phi } from '../support/output.ts';
import {
  billedPath,
  type Claim,
  countsOf,
  inWorkspace,
  neighbours,
  readinessPath,
  sendClaim,
  worklist,
} from '../support/readiness.ts';
import { onEveryEngine } from '../support/servers.ts';
import type { TestService } from '../support/service.ts';

const SEED = 11;
const CHANGES = 40;

onEveryEngine((start) => {
  let service: TestService;
  beforeAll(async () => {
    service = await start();
  });
  afterAll(() => service.stop());

  test('the worklist tells of every encounter what its readiness tells, and counts them, whatever changes', async () => {
    const claims = neighbours(6);
    for (const claim of claims) await sendClaim(service, claim);
    const insured = ({ patient }: Claim, change: object) => ({
      primary_insurance: { ...(patient.primary_insurance as object), ...change },
    });
    const changes: ((claim: Claim) => [keyof Claim, object])[] = [
      () => ['encounter', { is_completed: false }],
      () => ['encounter', { is_completed: true }],
      () => ['encounter', { voided_at: '2026-03-20' }],
      () => ['encounter', { voided_at: null }],
      () => ['encounter', { date_of_service: '2091-05-01' }],
      () => ['encounter', { date_of_service: '2026-03-11' }],
      () => ['encounter', { facility_id: null }],
      () => ['encounter', { patient_id: claims[0]?.patient.id }],
      (claim) => ['patient', insured(claim, { policy_number: null })],
      (claim) => ['patient', insured(claim, { policy_number: 'W1' })],
      (claim) => ['patient', insured(claim, { payer_id: claims[1]?.payer.id })],
      () => ['patient', { zip_code: '10001' }],
      () => ['provider', { npi: '0000000006' }],
      () => ['provider', { npi: '1234567893' }],
      () => ['facility', { tax_id: null }],
      () => ['facility', { tax_id: '12-3456789' }],
      () => ['payer', { payer_code: null }],
      () => ['payer', { payer_code: '60054' }],
    ];
    // What is void is not billed, and what was not billed has nothing to acknowledge.
    const bill = async (claim: Claim) => {
      const { status } = await service.post(billedPath(claim), { claim_id: phi('claim') });
      expect([200, 409]).toContain(status);
    };
    const acknowledge = async (claim: Claim) => {
      const { status } = await service.post(`${billedPath(claim)}/acknowledge`, { reason: phi('Accepted') });
      expect([200, 409]).toContain(status);
    };
    const billing = [bill, bill, undefined, undefined, undefined, acknowledge];
    const settings = [
      ['facility_tax_id', 'off'],
      ['changed_after_billing', 'blocks'],
    ] as const;
    const next = choices(SEED);
    const told = new Set<string>();
    for (let change = 0; change < CHANGES; change += 1) {
      const claim = claims[next(claims.length)] as Claim;
      const [kind, fields] = (changes[next(changes.length)] as (typeof changes)[number])(claim);
      Object.assign(claim[kind], fields);
      await sendClaim(service, claim, kind);
      const ofBilling = billing[change % billing.length];
      if (ofBilling) await ofBilling(claims[next(claims.length)] as Claim);
      for (const [rule, choice] of change === 20 ? settings : []) {
        expect((await inWorkspace(service, 'readiness', 'set', rule, choice)).code).toBe(0);
      }
      if (change % 10 !== 9) continue;
      const { items, counts } = await worklist(service);
      for (const { encounter } of claims) {
        const { body } = await service.get(readinessPath({ encounter } as Claim));
        const found = (body.findings as (typeof items)[number]['findings']).map(
          ({ rule, severity, owner, field, record }) => ({
            ...{ rule, severity, owner, field, answer: null },
            record: { kind: record.kind, id: record.id },
          }),
        );
        for (const { rule } of found) told.add(rule);
        const item = items.find(({ id }) => id === encounter.id);
        expect(item?.state).toBe(body.state);
        expect(new Set(item?.findings)).toEqual(new Set(found));
      }
      expect(counts).toEqual(countsOf(items));
    }
    expect(told).toContain('changed_after_billing');
    for (const [rule] of settings) await inWorkspace(service, 'readiness', 'set', rule, 'default');
  });
});
