import type { Page } from 'playwright-core';
import { v7 as uuidv7 } from 'uuid';
import { expect } from 'vitest';
import { newEvent } from '../../src/domain/events/newEvent.ts';
import { readinessCountsStream } from '../../src/domain/events/streams.ts';
import { repairedFields } from '../../src/modules/readiness/rules/repairs.ts';
import type { BilledRecord, BillingFacts } from '../../src/modules/readiness/rules/rule.ts';
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
  await page.locator('summary', { hasText: /^Rules$/ }).click();
  await page.getByLabel('No valid EIN', { exact: true }).selectOption('off');
  await page.getByLabel('Of all payers').fill('1y');
  await page.getByRole('button', { name: 'Simulate' }).click();
  await showFound(page);
}

/** It is drawn by itself that the run has ended, unless it had before. */
async function showFound(page: Page): Promise<void> {
  const link = page.getByRole('link', { name: 'Show the result' });
  const ended = page.getByText(/^Ended /);
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
    ...{ date_of_service: '2026-03-14T09:30:00Z', visit_type: 'office_visit', is_completed: true },
  },
  patient: {
    ...{ id: 'p', first_name: 'Ada', last_name: 'Lopez' },
    ...{ date_of_birth: '1984-02-29', gender: 'female', ...address },
    primary_insurance: {
      ...{ payer_id: 'y', policy_number: 'W123456789', subscriber_relationship: 'self' },
      ...{ effective_date: '2026-01-01', termination_date: '2026-12-31' },
    },
  },
  provider: {
    ...{ id: 'd', first_name: 'Ida', last_name: 'Nguyen' },
    npi: '1234567893',
    taxonomy_code: '207Q00000X',
    ...{ role: 'attending_physician', tax_id: '98-7654321' },
    ...address,
  },
  facility: {
    ...{ id: 'f', name: 'Elm Street Clinic', facility_type: 'clinic' },
    ...{ npi: '1093817462', tax_id: '12-3456789', ...address },
  },
  payer: { id: 'y', name: 'Elm Health', payer_code: '60054', payer_type: 'Private' },
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

/** A record in its first version, repaired: an undefined field is left out. */
export function recordOf(kind: string, given: Fields): BilledRecord {
  const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const id = String(fields.id);
  return { kind, id, version: 1, ...repairedFields(kind, { ...fields, id }) };
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
    filing: WorklistItem['filing'];
    found: string[];
  };
}

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
  filing: { limit: string; last_day: string; days_left: number } | null;
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
