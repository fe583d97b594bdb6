import type { Page } from 'playwright-core';
import { v7 as uuidv7 } from 'uuid';
import { expect } from 'vitest';
import { newEvent } from '../../src/domain/events/newEvent.ts';
import { readinessCountsStream } from '../../src/domain/events/streams.ts';
import type { BilledRecord, BillingFacts, RuleSettings } from '../../src/modules/readiness/rules/rule.ts';
import { type CliResult, runCli, storesOf } from './cli.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { phi, phiName } from './output.ts';
import { pathOf, paths } from './samples.ts';
import type { TestService } from './service.ts';

const DAY_MS = 86_400_000;
const LONG_MS = 60_000;

/** Appends what the service would have counted at the end of each of the last days: a number of blocked encounters each. */
export async function countDays(service: TestService, workspace: string, blocked: readonly number[]) {
  const principal = { type: 'service', id: 'readiness' } as const;
  const today = Date.now();
  for (const [index, count] of blocked.entries()) {
    const day = new Date(today - (blocked.length - index) * DAY_MS).toISOString().slice(0, 10);
    const data = {
      day,
      states: { blocked: count, ready: 2 },
      rules: { blocked: { facility_tax_id: count } },
    };
    const event = newEvent({ workspace, principal, requestId: uuidv7() }, 'ReadinessCounted', data);
    await service.eventLog.append(readinessCountsStream(workspace), { ...event, id: uuidv7() }, 'any');
  }
}

/** Has a scorecard made and settings simulated on the pages of a workspace, and waits for both. */
export async function analyse(page: Page, workspace: string): Promise<void> {
  const root = `/dashboard/workspaces/${workspace}/readiness`;
  await page.goto(`${root}/scorecard`);
  await page.getByRole('button', { name: 'Generate scorecard' }).click();
  await showFound(page);
  await page.goto(`${root}/simulation`);
  await page.locator('summary', { hasText: 'Rules' }).click();
  await page.getByLabel('The facility has an EIN').selectOption('off');
  await page.getByLabel('Filing limit for all payers, in days').fill('365');
  await page.getByRole('button', { name: 'Simulate' }).click();
  await showFound(page);
}

/** It is drawn by itself that the run has ended, unless it had before. */
async function showFound(page: Page): Promise<void> {
  const link = page.getByRole('link', { name: 'Show the result' });
  const ended = page.getByText('Ended', { exact: true });
  await link.or(ended).waitFor({ timeout: LONG_MS });
  if (await link.isVisible()) await link.click();
  await ended.waitFor();
}

export type Fields = Record<string, unknown>;

const address = {
  address_line_1: '12 Elm Street',
  city: 'Omaha',
  state: 'NE',
  zip_code: '68102-1234',
  country: 'US',
};

/** The fields of a claim in which no rule finds anything. */
export const billable = {
  encounter: {
    ...{ id: 'e', patient_id: 'p', provider_id: 'd', rendering_provider_id: 'd', facility_id: 'f' },
    ...{ date_of_service: '2026-03-14T09:30:00Z', is_completed: true },
  },
  patient: {
    ...{ id: 'p', date_of_birth: '1984-02-29', gender: 'female', ...address },
    primary_insurance: {
      ...{ payer_id: 'y', policy_number: 'W123456789', subscriber_relationship: 'self' },
      ...{ effective_date: '2026-01-01', termination_date: '2026-12-31' },
    },
  },
  provider: {
    id: 'd',
    npi: '1234567893',
    taxonomy_code: '207Q00000X',
    role: 'attending_physician',
    ...address,
  },
  facility: { id: 'f', npi: '1093817462', facility_type: 'clinic', tax_id: '12-3456789', ...address },
  payer: { id: 'y', payer_code: '60054' },
} satisfies Record<string, Fields & { id: string }>;

export type Claim = Record<keyof typeof billable, Fields>;

/** The billable claim, changed: an undefined field is left out. */
export function claimWith(changes: Partial<Claim> = {}): Claim {
  const claim = structuredClone(billable) as Claim;
  for (const [part, fields] of Object.entries(changes)) Object.assign(claim[part as keyof Claim], fields);
  return claim;
}

/** Another encounter than that of the billable claim, and like it but for what is changed. */
export function otherEncounter(changes: Fields): Fields {
  return { ...billable.encounter, id: 'o', ...changes };
}

/** A record in its first version: an undefined field is left out. */
export function recordOf(kind: string, given: Fields): BilledRecord {
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  return { kind, id: String(fields.id), version: 1, fields: { ...fields, id: String(fields.id) } };
}

/** The facts of a claim with one provider. */
export function factsOf(claim: Claim): BillingFacts {
  const record = (kind: keyof Claim) => recordOf(kind, claim[kind]);
  const provider = record('provider');
  return {
    ...{ encounter: record('encounter'), patient: record('patient'), provider, renderingProvider: provider },
    ...{ facility: record('facility'), payer: record('payer') },
  };
}

const kinds = ['payer', 'provider', 'facility', 'patient', 'encounter'] as const;

/** A finding, as the interface tells it. */
interface ToldFinding {
  rule: string;
  severity: string;
  field: string;
  record: { kind: string; id: string; version: number };
  billed_version?: number;
  since: string;
  cause: { kind: string; id: string; version: number; principal: object };
}

/** What was billed, as the interface tells it. */
interface ToldBilled {
  claim_id: string;
  at: string;
  versions: { part: string; kind: string; id: string; version: number }[];
  acknowledged?: { at: string; reason: string };
}

/** The billable claim, changed, with ids of its own, ready to be sent. */
export function freshClaim(changes: Partial<Claim> = {}): Claim {
  const claim = claimWith(changes);
  const ids = Object.fromEntries(kinds.map((kind) => [claim[kind].id, phi(kind)]));
  const named = { first_name: phiName('Ada'), last_name: phiName('Lopez') };
  Object.assign(claim.patient, named);
  Object.assign(claim.provider, named);
  for (const part of [claim.payer, claim.facility]) part.name = phi('Elm Street');
  return JSON.parse(JSON.stringify(claim), (key, value) =>
    key === 'id' || key.endsWith('_id') ? (ids[value] ?? value) : value,
  );
}

/** Claims that share payers, facilities and providers. */
export function neighbours(count: number): Claim[] {
  const [one, other] = [freshClaim(), freshClaim()];
  return Array.from({ length: count }, (_, index) => {
    const shared = index % 2 === 0 ? one : other;
    const claim = freshClaim({ encounter: { date_of_service: `2026-03-${10 + (index % 3)}` } });
    const { payer, provider, facility } = shared;
    claim.patient.primary_insurance = {
      ...(claim.patient.primary_insurance as object),
      payer_id: payer.id,
    };
    Object.assign(claim.encounter, {
      ...{ provider_id: provider.id, rendering_provider_id: provider.id, facility_id: facility.id },
    });
    return { ...claim, payer, provider, facility };
  });
}

/** Sends a claim, or some of its records. */
export async function sendClaim(client: Client, claim: Claim, ...parts: (keyof Claim)[]): Promise<void> {
  for (const kind of parts.length > 0 ? parts : kinds) {
    expect((await client.post(paths[kind], claim[kind])).status).toBe(200);
  }
}

/** Changes a record of a claim at a moment that no other write has, and gives that: `as_of` can tell them apart. */
export async function sendLater(
  client: Client,
  claim: Claim,
  kind: keyof Claim,
  change: object,
): Promise<string> {
  Object.assign(claim[kind], change);
  await sendClaim(client, claim, kind);
  return whenPast((await client.get(pathOf(kind, String(claim[kind].id)))).body.updated_at);
}

/** Gives a moment in ISO 8601 back, once it has passed: no write to come has it. */
export async function whenPast(moment: string): Promise<string> {
  await eventually(() => expect(Date.now()).toBeGreaterThan(Date.parse(moment)));
  return moment;
}

export function readinessPath({ encounter }: Claim): string {
  return `${pathOf('encounter', String(encounter.id))}/readiness`;
}

export function billedPath({ encounter }: Claim): string {
  return `${pathOf('encounter', String(encounter.id))}/billed`;
}

/** Bills an encounter, and changes it so that its claim is another one. */
export async function changeAfterBilling(client: Client, encounterId: string): Promise<void> {
  const path = pathOf('encounter', encounterId);
  expect((await client.post(`${path}/billed`, { claim_id: phi('claim') })).status).toBe(200);
  expect((await client.patch(path, { date_of_service: '2026-03-13' })).status).toBe(200);
}

/** The readiness of a claim; `found`: per finding the rule and the field. */
export async function readiness(client: Client, claim: Claim, query = '') {
  const { status, body } = await client.get(readinessPath(claim) + query);
  expect(status).toBe(200);
  const found = (body.findings as ToldFinding[]).map(
    ({ rule, record, field }) => `${rule} ${record.kind}.${field}`,
  );
  return { ...body, found } as {
    state: string;
    version: number;
    findings: ToldFinding[];
    billed: ToldBilled | null;
    found: string[];
  };
}

/** The moment for which the examples are. */
export const NOW = Date.parse('2026-03-15T12:00:00Z');

/** How a claim differs from the billable one; `other`: how the encounter `o` does from its encounter, which is not there without. */
export type Changes = Partial<Claim> & { other?: Fields };
const { primary_insurance: primary } = billable.patient;

const insured = (changes: object) => ({ patient: { primary_insurance: { ...primary, ...changes } } });
const insuredAs = (first_name: string, changes: object) => ({
  patient: { ...insured(changes).patient, first_name, last_name: 'Lopez' },
});
const spouse = {
  ...{ subscriber_relationship: 'spouse', subscriber_first_name: 'Ana' },
  ...{ subscriber_last_name: 'Lopez', subscriber_date_of_birth: '1980-01-02' },
};
const secondary = { payer_id: 'z', policy_number: 'Z987654' };
export const without = (part: keyof Claim, ...fields: string[]) => ({
  [part]: Object.fromEntries(fields.map((field) => [field, undefined])),
});

const filingLimits = { default: 90, byPayer: new Map([['y', 30]]) };
export const servedOn = (day: string, payer = 'y') => ({
  encounter: { date_of_service: day },
  ...insured({ payer_id: payer }),
});

export interface RuleExamples {
  /** Claims in which it finds these fields. */
  finds: [Changes, ...string[]][];
  /** Claims near to them in which it finds nothing. */
  passes: Changes[];
  /** What the workspace has set for both. */
  settings?: Partial<RuleSettings>;
  /** The billable claim was billed before. */
  isBilled?: true;
  /** The other encounter was billed before. */
  isOtherBilled?: true;
}

/** Of each rule, by its code. */
export const ruleExamples: Record<string, RuleExamples> = {
  service_date_missing: {
    finds: [[without('encounter', 'date_of_service'), 'encounter.date_of_service']],
    passes: [{ encounter: { date_of_service: '2026-03-14' } }],
  },
  service_date_in_future: {
    finds: [
      [{ encounter: { date_of_service: '2026-03-15T12:00:01Z' } }, 'encounter.date_of_service'],
      [{ encounter: { date_of_service: '2026-03-15T11:30:00-01:00' } }, 'encounter.date_of_service'],
    ],
    passes: [{ encounter: { date_of_service: '2026-03-15T12:00:00Z' } }],
  },
  service_before_birth: {
    finds: [
      [{ patient: { date_of_birth: '2026-03-15' } }, 'encounter.date_of_service', 'patient.date_of_birth'],
    ],
    passes: [{ patient: { date_of_birth: '2026-03-14' } }],
  },
  timely_filing: {
    settings: { filingLimits },
    finds: [
      [servedOn('2026-02-12'), 'encounter.date_of_service'],
      [servedOn('2025-12-14', 'other'), 'encounter.date_of_service'],
    ],
    passes: [
      servedOn('2026-02-13T23:30:00-05:00'),
      servedOn('2025-12-15', 'other'),
      without('encounter', 'date_of_service'),
      { ...servedOn('2020-01-01'), ...without('patient', 'primary_insurance') },
    ],
  },
  filing_limit_near: {
    settings: { filingLimits },
    finds: [
      [servedOn('2026-02-13'), 'encounter.date_of_service'],
      [servedOn('2026-02-26'), 'encounter.date_of_service'],
    ],
    passes: [servedOn('2026-02-12'), servedOn('2026-02-27'), servedOn('2026-02-13', 'other')],
  },
  provider_missing: {
    finds: [[without('encounter', 'provider_id'), 'encounter.provider_id']],
    passes: [without('encounter', 'rendering_provider_id')],
  },
  provider_npi: {
    finds: [
      [without('provider', 'npi'), 'provider.npi'],
      [{ provider: { npi: '0000000006' } }, 'provider.npi'],
      [{ provider: { npi: '1234567894' } }, 'provider.npi'],
    ],
    passes: [{ provider: { npi: '2000000002' } }],
  },
  taxonomy_code: {
    finds: [
      [{ provider: { taxonomy_code: '000000000X' } }, 'provider.taxonomy_code'],
      [{ provider: { taxonomy_code: '207Q00000' } }, 'provider.taxonomy_code'],
    ],
    passes: [{ provider: { taxonomy_code: '1041C0700X' } }, without('provider', 'taxonomy_code')],
  },
  taxonomy_code_missing: {
    finds: [[without('provider', 'taxonomy_code'), 'provider.taxonomy_code']],
    passes: [{ provider: { taxonomy_code: '000000000X' } }],
  },
  rendering_role: {
    finds: [[{ provider: { role: 'referring_provider' } }, 'encounter.rendering_provider_id']],
    passes: [{ provider: { role: 'rendering_provider' } }, without('provider', 'role')],
  },
  facility_missing: {
    finds: [[without('encounter', 'facility_id'), 'encounter.facility_id']],
    passes: [
      without('facility', 'name', 'npi', 'tax_id'),
      { encounter: { facility_id: undefined, visit_type: 'telehealth' } },
    ],
  },
  facility_npi: {
    finds: [[{ facility: { npi: '1093817463' } }, 'facility.npi']],
    passes: [without('facility', 'npi')],
  },
  facility_tax_id: {
    finds: [
      [without('facility', 'tax_id'), 'facility.tax_id'],
      [{ facility: { tax_id: '12-345678' } }, 'facility.tax_id'],
      ...['00-1234567', '07-1234567', '890000001', '12-0000000', '112222222'].map(
        (tax_id): [Changes, string] => [{ facility: { tax_id } }, 'facility.tax_id'],
      ),
    ],
    passes: [{ facility: { tax_id: '123456789' } }],
  },
  clia_number: {
    finds: [
      [{ facility: { facility_type: 'laboratory' } }, 'facility.clia_number'],
      [{ facility: { facility_type: 'laboratory', clia_number: '28E1234567' } }, 'facility.clia_number'],
    ],
    passes: [
      { facility: { facility_type: 'laboratory', clia_number: '28D1234567' } },
      { facility: { clia_number: '28E1234567' } },
    ],
  },
  clia_number_form: {
    finds: [[{ facility: { clia_number: '28E1234567' } }, 'facility.clia_number']],
    passes: [
      { facility: { clia_number: '28D1234567' } },
      { facility: { facility_type: 'laboratory', clia_number: '28E1234567' } },
    ],
  },
  visit_at_facility: {
    finds: (
      [
        ['inpatient', 'telehealth'],
        ['emergency', 'pharmacy'],
        ['surgical', 'laboratory'],
        ['inpatient', 'clinic'],
      ] as const
    ).map(([visit_type, facility_type]) => [
      { encounter: { visit_type }, facility: { facility_type } },
      'encounter.visit_type',
    ]),
    passes: [
      { encounter: { visit_type: 'inpatient' }, facility: { facility_type: 'hospital' } },
      { encounter: { visit_type: 'emergency' }, facility: { facility_type: undefined } },
      { encounter: { visit_type: 'telehealth' }, facility: { facility_type: 'telehealth' } },
      { encounter: { visit_type: undefined }, facility: { facility_type: 'pharmacy' } },
    ],
  },
  document_missing: {
    settings: { requiredDocuments: new Map([['inpatient', ['referral', 'discharge_summary']]]) },
    finds: [[{ encounter: { visit_type: 'inpatient' } }, 'encounter.visit_type']],
    passes: [{ encounter: { visit_type: 'telehealth' } }, without('encounter', 'visit_type')],
  },
  primary_insurance_missing: {
    finds: [[without('patient', 'primary_insurance'), 'patient.primary_insurance']],
    passes: [insured({ policy_number: undefined })],
  },
  insurance_rank_gap: {
    finds: [
      [{ patient: { tertiary_insurance: primary } }, 'patient.secondary_insurance'],
      [
        { patient: { primary_insurance: undefined, secondary_insurance: primary } },
        'patient.primary_insurance',
      ],
    ],
    passes: [
      { patient: { secondary_insurance: primary, tertiary_insurance: primary } },
      without('patient', 'primary_insurance'),
    ],
  },
  coverage_not_in_force: {
    finds: [
      [insured({ effective_date: '2026-03-15' }), 'patient.primary_insurance.effective_date'],
      [insured({ termination_date: '2021-12-31' }), 'patient.primary_insurance.termination_date'],
    ],
    passes: [
      insured({ effective_date: '2026-03-14', termination_date: '2026-03-14' }),
      insured({ effective_date: undefined, termination_date: undefined }),
    ],
  },
  policy_number_missing: {
    finds: [
      [insured({ policy_number: undefined }), 'patient.primary_insurance.policy_number'],
      [insured({ policy_number: ' ' }), 'patient.primary_insurance.policy_number'],
      [
        { ...insured({ policy_number: undefined }), payer: { payer_type: 'Private' } },
        'patient.primary_insurance.policy_number',
      ],
    ],
    passes: [
      without('patient', 'primary_insurance'),
      { ...insured({ policy_number: undefined }), payer: { payer_type: 'Self-Pay' } },
      { ...insured({ policy_number: undefined }), payer: { payer_type: 'self pay' } },
    ],
  },
  medicare_member_id: {
    finds: ['123456789A', '1EG4TE5MK7', '1SG4TE5MK73', '0EG4TE5MK73', 'W123456789'].map((policy_number) => [
      { ...insured({ policy_number }), payer: { payer_type: 'Medicare' } },
      'patient.primary_insurance.policy_number',
    ]),
    passes: [
      ...['1EG4TE5MK73', '1eg4-te5-mk73', '1EG4 TE5 MK73'].map((policy_number) => ({
        ...insured({ policy_number }),
        payer: { payer_type: 'Medicare' },
      })),
      { payer: { payer_type: 'Medicaid' } },
      { ...insured({ policy_number: undefined }), payer: { payer_type: 'Medicare' } },
    ],
  },
  medicare_subscriber: {
    finds: ['spouse', 'child', 'other'].map((subscriber_relationship) => [
      { ...insured({ subscriber_relationship }), payer: { payer_type: 'MEDICARE' } },
      'patient.primary_insurance.subscriber_relationship',
    ]),
    passes: [
      { payer: { payer_type: 'Medicare' } },
      { ...insured({ subscriber_relationship: undefined }), payer: { payer_type: 'Medicare' } },
      insured({ subscriber_relationship: 'spouse' }),
    ],
  },
  medicaid_subscriber: {
    finds: [
      [
        { ...insured({ subscriber_relationship: 'child' }), payer: { payer_type: 'Medicaid' } },
        'patient.primary_insurance.subscriber_relationship',
      ],
    ],
    passes: [
      { payer: { payer_type: 'Medicaid' } },
      { ...insured({ subscriber_relationship: 'child' }), payer: { payer_type: 'Tricare' } },
    ],
  },
  subscriber_incomplete: {
    finds: [
      [
        insured({ subscriber_relationship: 'child', subscriber_last_name: 'Lopez' }),
        'patient.primary_insurance.subscriber_first_name',
      ],
      [
        { ...insured({ subscriber_relationship: 'other' }), payer: { payer_type: 'Workers Compensation' } },
        'patient.primary_insurance.subscriber_last_name',
      ],
    ],
    passes: [
      insured({ subscriber_relationship: undefined }),
      insured(spouse),
      ...['Workers Compensation', "workers' comp", 'Worker’s Compensation'].map((payer_type) => ({
        ...insured({ subscriber_relationship: 'other', subscriber_last_name: 'Elm Street Bakery' }),
        payer: { payer_type },
      })),
    ],
  },
  subscriber_birth_date_missing: {
    finds: [
      [
        insured({ ...spouse, subscriber_date_of_birth: undefined }),
        'patient.primary_insurance.subscriber_date_of_birth',
      ],
    ],
    passes: [
      insured(spouse),
      insured({ subscriber_relationship: 'self' }),
      {
        ...insured({ subscriber_relationship: 'other', subscriber_last_name: 'Elm Street Bakery' }),
        payer: { payer_type: 'Workers Compensation' },
      },
    ],
  },
  subscriber_mismatch: {
    finds: [
      [
        insuredAs('Ada', { ...spouse, subscriber_relationship: 'self' }),
        'patient.primary_insurance.subscriber_first_name',
        'patient.primary_insurance.subscriber_date_of_birth',
      ],
      [
        insuredAs('Ada', { ...spouse, subscriber_relationship: undefined }),
        'patient.primary_insurance.subscriber_relationship',
      ],
    ],
    passes: [
      insuredAs('Ada', spouse),
      insuredAs('Ana', {
        ...spouse,
        subscriber_relationship: 'self',
        subscriber_date_of_birth: '1984-02-29',
      }),
      insuredAs('ANA ', { ...spouse, subscriber_relationship: undefined }),
    ],
  },
  subscriber_implausible: {
    finds: [
      [
        insuredAs('Ana', { ...spouse, subscriber_date_of_birth: '1984-02-29' }),
        'patient.primary_insurance.subscriber_relationship',
      ],
      [
        insured({ ...spouse, subscriber_relationship: 'child', subscriber_date_of_birth: '1990-01-02' }),
        'patient.primary_insurance.subscriber_date_of_birth',
      ],
      [
        insured({ ...spouse, subscriber_date_of_birth: '2026-03-16' }),
        'patient.primary_insurance.subscriber_date_of_birth',
      ],
    ],
    passes: [
      insuredAs('Ada', { ...spouse, subscriber_date_of_birth: '1984-02-29' }),
      insured({ ...spouse, subscriber_relationship: 'child' }),
      insured({ ...spouse, subscriber_date_of_birth: '2026-03-15' }),
      insuredAs('Ana', {
        ...spouse,
        subscriber_relationship: 'self',
        subscriber_date_of_birth: '2030-01-01',
      }),
    ],
  },
  payer_code_missing: {
    finds: [[without('payer', 'payer_code'), 'payer.payer_code']],
    passes: [{ payer: { payer_code: 'BCBS' } }, { payer: { payer_code: undefined, payer_type: 'Self-Pay' } }],
  },
  other_insurance: {
    finds: [
      [{ patient: { secondary_insurance: { payer_id: 'z' } } }, 'patient.secondary_insurance.policy_number'],
      [{ patient: { secondary_insurance: primary } }, 'patient.secondary_insurance'],
      [
        { patient: { secondary_insurance: { ...secondary, termination_date: '2026-03-13' } } },
        'patient.secondary_insurance.termination_date',
      ],
      [
        {
          patient: {
            secondary_insurance: secondary,
            tertiary_insurance: { ...secondary, effective_date: '2026-03-15' },
          },
        },
        ...['patient.tertiary_insurance', 'patient.tertiary_insurance.effective_date'],
      ],
    ],
    passes: [
      { patient: { secondary_insurance: secondary } },
      { patient: { secondary_insurance: { ...secondary, payer_id: 'y', termination_date: '2026-03-14' } } },
    ],
  },
  birth_date: {
    finds: [[{ patient: { date_of_birth: '1899-12-31' } }, 'patient.date_of_birth']],
    passes: [{ patient: { date_of_birth: '1900-01-01' } }],
  },
  gender_missing: {
    finds: [[without('patient', 'gender'), 'patient.gender']],
    passes: [{ patient: { gender: 'other' } }],
  },
  address_incomplete: {
    finds: [
      [without('patient', 'address_line_1', 'zip_code'), 'patient.address_line_1', 'patient.zip_code'],
      [without('facility', 'city'), 'facility.city'],
      [{ provider: { state: 'XX' } }, 'provider.state'],
      ...['6810', '00000', '00000-1234', '99999', '68102-0000', '681020000'].map(
        (zip_code): [Changes, string] => [{ patient: { zip_code } }, 'patient.zip_code'],
      ),
      ...['us', 'USA', 'U.S.A.', ' United States '].map((country): [Changes, string] => [
        { patient: { country, zip_code: undefined } },
        'patient.zip_code',
      ]),
      [
        { patient: { country: 'CA', state: 'NE', zip_code: '68102' } },
        ...['patient.state', 'patient.zip_code'],
      ],
      [
        { patient: { country: 'can', state: undefined, zip_code: undefined } },
        ...['patient.state', 'patient.zip_code'],
      ],
      [
        { patient: { country: 'MX', address_line_1: undefined, zip_code: undefined } },
        'patient.address_line_1',
      ],
      [{ patient: { country: 'Narnia', city: undefined } }, 'patient.city'],
    ],
    passes: [
      { patient: { state: 'ne' } },
      { patient: { zip_code: '681021234' } },
      { patient: { country: 'USA' } },
      { patient: { country: 'CA', state: 'ON', zip_code: 'K1A 0B1' } },
      { patient: { country: 'Canada', state: 'on', zip_code: 'k1a0b1' } },
      { patient: { country: 'HK', state: undefined, zip_code: undefined } },
    ],
  },
  zip_of_other_state: {
    finds: [[{ patient: { zip_code: '10001' } }, 'patient.state']],
    passes: [
      { patient: { zip_code: '68102-1234' } },
      { patient: { zip_code: '00000' } },
      { patient: { state: 'AS', zip_code: '96799' } },
      { patient: { country: 'MX', zip_code: '10001' } },
      { patient: { state: 'ne' } },
    ],
  },
  country_code: {
    finds: [
      [{ patient: { country: 'Narnia' } }, 'patient.country'],
      [
        { provider: { country: '840' }, facility: { country: 'DEU' } },
        'provider.country',
        'facility.country',
      ],
    ],
    passes: ['US', 'usa', 'U.S.', 'Canada', 'CAN', 'mx'].map((country) => ({ patient: { country } })),
  },
  po_box: {
    finds: [
      'PO Box 12',
      'P.O. Box 7',
      'p o box 3',
      'POST OFFICE BOX 9',
      'Lockbox 512',
      '12 Elm St PMB 4',
    ].map((address_line_1) => [{ facility: { address_line_1 } }, 'facility.address_line_1']),
    passes: [
      { patient: { address_line_1: 'PO Box 12' } },
      ...['12 Poboxer Road', '1 Boxwood Lane', '7 Post Office Square'].map((address_line_1) => ({
        provider: { address_line_1 },
      })),
    ],
  },
  zip_plus_four: {
    finds: [
      [{ facility: { zip_code: '68102' } }, 'facility.zip_code'],
      [{ provider: { zip_code: '68102' } }, 'provider.zip_code'],
    ],
    passes: [
      { patient: { zip_code: '68102' } },
      { facility: { zip_code: '681021234' } },
      { facility: { country: 'MX', zip_code: '68102' } },
    ],
  },
  placeholder: {
    finds: [
      ...[
        ...['UNKNOWN', 'n/a', 'None', 'TBD', 'self', '000000000', 'XXXXX', '123456789', '1234567890', '7'],
        ...['W'.padEnd(81, '12'), 'W12*345', 'W12~345'],
      ].map((policy_number): [Changes, string] => [
        insured({ policy_number }),
        'patient.primary_insurance.policy_number',
      ]),
      [{ payer: { payer_code: '99999' } }, 'payer.payer_code'],
      [{ payer: { payer_code: 'TBD' } }, 'payer.payer_code'],
      [{ patient: { first_name: '.', last_name: 'Unknown' } }, 'patient.first_name', 'patient.last_name'],
      [{ patient: { first_name: 'Test', last_name: 'TEST' } }, 'patient.first_name', 'patient.last_name'],
      [{ patient: { address_line_1: 'N/A' } }, 'patient.address_line_1'],
      [{ facility: { name: '-', city: 'unknown' } }, 'facility.name', 'facility.city'],
      [
        insured({ ...spouse, subscriber_first_name: 'XX' }),
        'patient.primary_insurance.subscriber_first_name',
      ],
      [{ payer: { name: 'TBA' } }, 'payer.name'],
    ],
    passes: [
      ...['60054', 'W123456789', '12', '1EG4TE5MK73', 'YZX-0000-1'].map((policy_number) =>
        insured({ policy_number }),
      ),
      { patient: { first_name: 'Test', last_name: 'Lopez' } },
      { patient: { first_name: 'Na', last_name: 'Null' } },
      { patient: { first_name: 'J.', last_name: "O'Neil-Self" } },
      { patient: { last_name: '李' } },
      { patient: { address_line_1: '1 None Such Road' } },
    ],
  },
  member_id_ssn: {
    finds: [[insured({ policy_number: '123-45-6789' }), 'patient.primary_insurance.policy_number']],
    passes: ['123456780', '000-12-3456', 'W123-45-6789'].map((policy_number) => insured({ policy_number })),
  },
  name_form: {
    finds: [
      [{ patient: { last_name: 'L'.repeat(61) } }, 'patient.last_name'],
      [{ patient: { first_name: 'L'.repeat(36) } }, 'patient.first_name'],
      [{ patient: { last_name: '李' } }, 'patient.last_name'],
      [{ provider: { first_name: 'Ada2' } }, 'provider.first_name'],
      [{ facility: { name: 'F'.repeat(61) } }, 'facility.name'],
      [
        insured({ ...spouse, subscriber_last_name: 'L0pez' }),
        'patient.primary_insurance.subscriber_last_name',
      ],
    ],
    passes: [
      { patient: { first_name: 'L'.repeat(35), last_name: 'L'.repeat(60) } },
      { patient: { first_name: 'Zoë', last_name: 'Łukasz-Ødegård' } },
      { patient: { last_name: 'O’Neil' } },
      { facility: { name: '7 Hills Clinic' } },
      { payer: { name: 'Plan 65' } },
    ],
  },
  cancelled_visit: {
    finds: ['cancelled', 'Canceled', 'no-show', 'NO SHOW', 'noshow', 'entered-in-error'].map((status) => [
      { encounter: { status } },
      'encounter.status',
    ]),
    passes: ['billed', 'finished', 'not cancelled'].map((status) => ({ encounter: { status } })),
  },
  duplicate_of_billed: {
    isOtherBilled: true,
    finds: [
      [{ other: {} }, 'encounter.date_of_service'],
      [
        { encounter: { facility_id: undefined }, other: { facility_id: undefined } },
        'encounter.date_of_service',
      ],
    ],
    passes: [
      { other: { provider_id: 'd2' } },
      { other: { date_of_service: '2026-03-15' } },
      { other: { voided_at: '2026-03-15' } },
      { encounter: { voided_at: '2026-03-15' }, other: {} },
    ],
  },
  suspected_duplicate: {
    finds: [
      [{ other: {} }, 'encounter.date_of_service'],
      [
        { other: { date_of_service: '2026-03-14', rendering_provider_id: 'd2', is_completed: false } },
        'encounter.date_of_service',
      ],
      [
        { encounter: { facility_id: undefined }, other: { facility_id: undefined } },
        'encounter.date_of_service',
      ],
    ],
    passes: [
      { other: { patient_id: 'q' } },
      { other: { provider_id: 'd2' } },
      { other: { date_of_service: '2026-03-15T00:30:00+01:00' } },
      { other: { facility_id: undefined } },
      { encounter: { facility_id: undefined }, other: {} },
      { other: { voided_at: '2026-03-15' } },
      { encounter: { voided_at: '2026-03-15' }, other: {} },
      ...(['provider_id', 'date_of_service'] as const).map((field) => ({
        encounter: { [field]: undefined },
        other: { [field]: undefined },
      })),
    ],
  },
  changed_after_billing: {
    isBilled: true,
    finds: [
      [{ encounter: { visit_type: 'telehealth' } }, 'encounter.visit_type'],
      [{ encounter: { voided_at: '2026-03-15' } }, 'encounter.voided_at'],
      [insured({ policy_number: 'W9' }), 'patient.primary_insurance.policy_number'],
      [without('facility', 'address_line_1', 'tax_id'), 'facility.tax_id', 'facility.address_line_1'],
      [{ provider: { npi: '2000000002' } }, 'provider.npi'],
      [{ payer: { payer_code: '60055' } }, 'payer.payer_code'],
      // Another record: only what names it has changed.
      [{ encounter: { facility_id: 'g' }, facility: { id: 'g', city: 'Lincoln' } }, 'encounter.facility_id'],
    ],
    passes: [
      {},
      { patient: { phone: '+1 402 555 0107' }, encounter: { status: 'billed', is_completed: false } },
      { encounter: { void_reason: 'Entered twice' } },
    ],
  },
};

/** An encounter of the worklist, as the interface tells it. */
export interface WorklistItem {
  id: string;
  state: string;
  date_of_service: string | null;
  patient_id: string | null;
  payer_id: string | null;
  facility_id: string | null;
  provider_id: string | null;
  billed: { at: string; claim_id: string } | null;
  filing: { last_day: string; days_left: number } | null;
  findings: {
    rule: string;
    severity: string;
    owner: string;
    field: string;
    record: { kind: string; id: string };
  }[];
}

interface WorklistCounts {
  states: Record<string, number>;
  rules: Record<string, number>;
}

/** All pages of a worklist that has every write answered before; `query` begins with `&`. */
export async function worklist(
  client: Client,
  query = '',
  { limit = 1_000, timeoutMs = LONG_MS }: { limit?: number; timeoutMs?: number } = {},
): Promise<{ items: WorklistItem[]; counts: WorklistCounts }> {
  const read = async (more: string) => {
    const { status, body } = await client.get(`/integration/readiness?${more}`);
    expect(status).toBe(200);
    return body;
  };
  // What is shown is in the audit trail: whoever only waits asks for little.
  await eventually(
    async () => expect((await read('limit=1')).progress).toEqual({ is_current: true, under_way: [] }),
    timeoutMs,
  );
  const items: WorklistItem[] = [];
  const first = await read(`limit=${limit}${query}`);
  for (let page = first; ; page = await read(`limit=${limit}${query}&page_token=${page.next_page_token}`)) {
    items.push(...page.items);
    if (page.next_page_token === null) return { items, counts: first.counts };
  }
}

/** What the counts of these encounters have to be. */
export function countsOf(items: readonly WorklistItem[]): WorklistCounts {
  const states: Record<string, number> = {
    ready: 0,
    self_pay: 0,
    blocked: 0,
    rejected: 0,
    not_completed: 0,
    voided: 0,
  };
  const rules: Record<string, number> = {};
  for (const { state, findings } of items) {
    states[state] = (states[state] ?? 0) + 1;
    for (const rule of new Set(findings.map((finding) => finding.rule))) rules[rule] = (rules[rule] ?? 0) + 1;
  }
  return { states, rules };
}

/** Runs a command on the stores of a service. */
export function inStores({ config }: TestService, ...args: string[]): Promise<CliResult> {
  return runCli(args, { env: { ...storesOf(config), DATA_DIR: config.dataDir } });
}

/** Runs a command on the workspace `clinic` of a service. */
export function inWorkspace(service: TestService, ...args: string[]): Promise<CliResult> {
  return inStores(service, ...args, '--workspace', service.workspaceId('clinic'));
}
