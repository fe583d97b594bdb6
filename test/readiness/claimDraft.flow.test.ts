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
  whenPast,
  worklist,
} from '../support/readiness.ts';
import { pathOf } from '../support/samples.ts';
import { onEmbeddedEngines } from '../support/servers.ts';
import { accessesBy, appendedBy, sharedService, type TestService } from '../support/service.ts';

interface Resource {
  resourceType: string;
  id: string;
  extension: { url: string; extension: { url: string; [value: string]: unknown }[] }[];
  [field: string]: unknown;
}

const missing = ['diagnosis', 'lines', 'charges'];

/** The records that a draft says it is made of: kind, id and version. */
function sourcesOf({ extension, contained = [] }: { extension?: unknown; contained?: Resource[] }): string[] {
  return [{ extension } as Resource, ...contained]
    .map((one) => one.extension[0]?.extension.map((part) => Object.values(part)[1]).join(' ') ?? '')
    .sort();
}

/** The references in a value. */
function referencesIn(value: unknown): string[] {
  return [...JSON.stringify(value).matchAll(/"reference":"#([^"]+)"/g)].map(([, id]) => id as string);
}

onEmbeddedEngines(() => {
  let service: TestService;
  beforeAll(async () => {
    service = await sharedService();
  });
  afterAll(() => service.stop());

  const draftPath = ({ encounter }: Claim) => `${pathOf('encounter', String(encounter.id))}/claim-draft`;

  test('is what the records say, each with its version, now and as of a moment', async () => {
    const claim = freshClaim();
    const { encounter, patient, provider, facility, payer } = claim;
    const insurance = patient.primary_insurance as Record<string, unknown>;
    Object.assign(insurance, {
      ...{
        subscriber_relationship: 'spouse',
        subscriber_first_name: phi('Ana'),
        subscriber_last_name: phi('Lopez'),
      },
      ...{ group_number: phi('group'), subscriber_date_of_birth: '1980-01-02' },
    });
    await sendClaim(service, claim);
    const before = await sendLater(service, claim, 'encounter', { visit_type: 'office_visit' });
    await sendLater(service, claim, 'facility', { city: phi('Lincoln') });
    const openapi = await fetchDocument(service);
    let answer = await service.get(draftPath(claim));
    const accesses = await accessesBy(service, async () => {
      expect(await appendedBy(service, async () => (answer = await service.get(draftPath(claim))))).toEqual(
        [],
      );
    });
    expectDocumented(openapi, 'getClaimDraft', answer);
    expect(answer.body).toMatchObject({ encounter_id: encounter.id, state: 'ready', missing });
    const { claim: draft } = answer.body;
    expect(draft).toMatchObject({
      ...{ resourceType: 'Claim', status: 'draft', use: 'claim', identifier: [{ value: encounter.id }] },
      ...{ patient: { reference: '#patient' }, provider: { reference: '#organization' } },
      careTeam: [{ provider: { reference: '#rendering-provider' } }],
      billablePeriod: { start: encounter.date_of_service },
      insurance: [{ sequence: 1, focal: true, coverage: { reference: '#primary-insurance' } }],
    });
    const versions = (facilityVersion: number) =>
      [
        `encounter ${encounter.id} 2`,
        ...Array(2).fill(`facility ${facility.id} ${facilityVersion}`),
        ...Array(3).fill(`patient ${patient.id} 1`),
        `payer ${payer.id} 1`,
        `provider ${provider.id} 1`,
      ].sort();
    expect(sourcesOf(draft)).toEqual(versions(2));
    const named = new Map((draft.contained as Resource[]).map((one) => [one.id, one]));
    expect(referencesIn(draft).filter((id) => !named.has(id))).toEqual([]);
    expect(named.get('primary-insurance')).toMatchObject({
      ...{ subscriberId: insurance.policy_number, payor: [{ reference: '#payer' }] },
      subscriber: { reference: '#primary-insurance-subscriber' },
    });
    expect(named.get('primary-insurance-subscriber')).toMatchObject({
      ...{ resourceType: 'RelatedPerson', birthDate: '1980-01-02' },
      name: [{ family: insurance.subscriber_last_name, given: [insurance.subscriber_first_name] }],
    });
    expect(named.get('organization')).toMatchObject({
      ...{ resourceType: 'Organization', name: facility.name },
      identifier: expect.arrayContaining([
        { system: 'urn:oid:2.16.840.1.113883.4.4', value: facility.tax_id },
      ]),
    });
    expect(named.get('rendering-provider')).toMatchObject({
      identifier: expect.arrayContaining([{ system: 'http://hl7.org/fhir/sid/us-npi', value: provider.npi }]),
      qualification: [{ code: { coding: [{ code: provider.taxonomy_code }] } }],
    });
    expect(named.get('facility')).toMatchObject({ address: { city: facility.city } });
    expect(JSON.stringify(draft)).not.toMatch(/\{\}|\[\]/);
    expect(accesses).toEqual([
      {
        ...{ action: 'record.readiness', kind: 'encounter', query: { claim_draft: true } },
        shown: {
          ...{ ranges: [], count: 1 },
          things: [
            ...Object.entries({ encounter, patient, payer, provider, facility }).map(([kind, { id }]) => ({
              ...{ kind, record_id: id },
            })),
          ],
        },
      },
    ]);
    const then = (await service.get(`${draftPath(claim)}?as_of=${before}`)).body;
    expect(sourcesOf(then.claim)).toEqual(versions(1));
    expect(then.claim.created).toBe(before);
  });

  test('names who is set to bill, as of its time', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const before = await whenPast(new Date().toISOString());
    const set = ['readiness', 'set-billing-entity', 'provider', '--facility', String(claim.facility.id)];
    expect(await inWorkspace(service, ...set)).toMatchObject({ code: 0 });
    const { claim: draft } = (await service.get(draftPath(claim))).body;
    expect(draft.provider).toEqual({ reference: '#provider' });
    expect(draft).not.toHaveProperty('careTeam');
    expect(draft.contained.map(({ id }: Resource) => id)).toEqual(
      expect.arrayContaining(['provider', 'facility']),
    );
    expect(sourcesOf(draft).filter((source) => /^facility|^provider/.test(source))).toHaveLength(2);
    const then = (await service.get(`${draftPath(claim)}?as_of=${before}`)).body;
    expect(then.claim.provider).toEqual({ reference: '#organization' });
  });

  test('of a claim that would replace another has the number that the payer gave it', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const [claim_id, payer_claim_number] = [phi('claim'), phi('icn')];
    await service.post(billedPath(claim), { claim_id });
    const denied = { source: '835', outcome: 'denied', payer_claim_number };
    expect((await service.post(`${billedPath(claim)}/${claim_id}/outcome`, denied)).status).toBe(200);
    const { body } = await service.get(draftPath(claim));
    expect(body).toMatchObject({
      state: 'rejected',
      claim: {
        related: [{ claim: { identifier: { value: claim_id } }, reference: { value: payer_claim_number } }],
      },
    });
  });

  test('of what nobody knows says so; a void encounter, and one that is not there, has none', async () => {
    const claim = freshClaim();
    await sendClaim(service, claim);
    const bare = { encounter: { id: phi('encounter'), patient_id: claim.patient.id } } as unknown as Claim;
    await sendClaim(service, bare, 'encounter');
    await sendLater(service, claim, 'patient', { primary_insurance: null });
    const { body } = await service.get(draftPath(bare));
    const absent = { extension: [{ valueCode: 'unknown' }] };
    expect(body).toMatchObject({
      state: 'not_completed',
      claim: { provider: absent, insurance: [{ sequence: 1, coverage: absent }] },
    });
    await sendLater(service, claim, 'encounter', { voided_at: '2026-03-20' });
    expect(await service.get(draftPath(claim))).toMatchObject({ status: 409, body: { code: 'conflict' } });
    expect((await service.get(draftPath(freshClaim()))).status).toBe(404);
    expect((await service.get(`${draftPath(bare)}?as_of=yesterday`)).status).toBe(400);
  });

  test('those of the worklist come one a line', async () => {
    const claims = [freshClaim(), freshClaim(), freshClaim({ payer: { payer_code: undefined } })];
    const { facility } = claims[0] as Claim;
    for (const claim of claims) {
      claim.facility = facility;
      claim.encounter.facility_id = facility.id;
      await sendClaim(service, claim);
    }
    await service.post(billedPath(claims[1] as Claim), { claim_id: phi('claim') });
    const query = `facility_id=${facility.id}&state=ready&billed=false`;
    await worklist(service);
    let answer = await service.get(`/integration/readiness/claim-drafts?${query}`);
    const accesses = await accessesBy(service, async () => {
      answer = await service.get(`/integration/readiness/claim-drafts?${query}`);
    });
    const lines = answer.text.trim().split('\n');
    expect(lines).toHaveLength(1);
    const [first] = claims as [Claim];
    const { created: _, ...same } = (await service.get(draftPath(first))).body.claim;
    expect(JSON.parse(lines[0] as string)).toMatchObject({
      ...{ encounter_id: first.encounter.id, state: 'ready', missing, claim: same },
    });
    expect(accesses).toMatchObject([
      {
        action: 'readiness.export',
        query: { state: 'ready', billed: 'false', claim_draft: true, format: 'ndjson' },
      },
    ]);
    expect((await readiness(service, first)).state).toBe('ready');
    expect((await service.get('/integration/readiness/claim-drafts?facility_id=nowhere')).status).toBe(400);
  });
});
