import { expect } from 'vitest';
import { type Claim, claimWith } from './billing.ts';
import type { Client } from './client.ts';
import { eventually } from './eventually.ts';
import { pathOf, paths } from './fieldValues.ts';
import { phi } from './phi.ts';

const kinds = ['payer', 'provider', 'facility', 'patient', 'encounter'] as const;

/** A finding, as the interface tells it. */
export interface ToldFinding {
  rule: string;
  severity: string;
  field: string;
  record: { kind: string; id: string; version: number };
  billed_version?: number;
  since: string;
  cause: { kind: string; id: string; version: number; principal: object };
}

/** What was billed, as the interface tells it. */
export interface ToldBilled {
  claim_id: string;
  at: string;
  versions: { part: string; kind: string; id: string; version: number }[];
  acknowledged?: { at: string; reason: string };
}

/** The billable claim, changed, with ids of its own, ready to be sent. */
export function freshClaim(changes: Partial<Claim> = {}): Claim {
  const claim = claimWith(changes);
  const ids = Object.fromEntries(kinds.map((kind) => [claim[kind].id, phi(kind)]));
  const named = { first_name: phi('Ada'), last_name: phi('Lopez') };
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
