import type { AuditEntry } from '../../../projections/auditEntry.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import type { PrincipalNames } from '../records/queries/PrincipalNames.ts';
import type { Page, PageRequest } from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { type Disclosure, toDisclosure } from './disclosure.ts';
import { type DisclosureQuery, withPeriod } from './disclosureQuery.ts';
import { disclosureStatus, isAccounted } from './disclosureStatus.ts';
import { patientThings } from './patientThings.ts';
import { type AuditFilter, readAuditTrail, wholeAuditTrail } from './readAuditTrail.ts';
import { recordAccess } from './recordAccess.ts';
import { Sightings } from './Sightings.ts';

export interface DisclosurePorts extends QueryPorts {
  names: PrincipalNames;
}

export interface DisclosurePage extends Page<Disclosure> {
  /** When the oldest audit trail entry examined was recorded; null when there was none. */
  lookedBackTo: string | null;
  /** The query with the period that it covers. */
  query: DisclosureQuery;
}

/**
 * Returns one page of the disclosures of a patient's data, newest first, including every access before the call. Its work is
 * bounded, as that of `readAuditTrail`, and by the number of the patient's own versions. The report is in the audit trail before
 * it is returned. Rejects with `not_found` when there never was such a patient, and with `unavailable`.
 */
export async function readDisclosures(
  ports: DisclosurePorts,
  caller: Caller,
  asked: DisclosureQuery,
  request: PageRequest,
): Promise<DisclosurePage> {
  const query = withPeriod(asked);
  const { filter, sightings } = await searchFor(ports, caller, query);
  const { items, ...page } = await readAuditTrail(ports, caller.workspace, filter, request);
  const disclosures = await toDisclosures(ports, items, sightings);
  await recordReport(ports, caller, query, { limit: request.limit });
  return { ...page, items: disclosures, query };
}

/** A whole report, and the query with the period that it covers. */
export interface DisclosureReport {
  query: DisclosureQuery;
  /** Newest first, several at a time. */
  parts: AsyncIterable<Disclosure[]>;
}

/**
 * Returns everything that `readDisclosures` returns page by page, as it is when the report begins: only one part at a time is in
 * memory. It is in the audit trail before anything is returned; `how` records there in what form it was requested. Rejects as
 * that does.
 */
export async function reportDisclosures(
  ports: DisclosurePorts,
  caller: Caller,
  asked: DisclosureQuery,
  how: Record<string, unknown>,
): Promise<DisclosureReport> {
  const query = withPeriod(asked);
  const { filter, sightings } = await searchFor(ports, caller, query);
  const entries = await wholeAuditTrail(ports, caller.workspace, filter);
  await recordReport(ports, caller, query, how);
  return { query, parts: inParts(ports, entries, sightings) };
}

async function searchFor(ports: DisclosurePorts, { workspace, requestId }: Caller, query: DisclosureQuery) {
  const sightings = new Sightings(await patientThings(ports, workspace, query.patientId));
  const { form, from, to, omitExempt, patientId } = query;
  const filter: AuditFilter = {
    ...(from !== undefined && { from }),
    ...(to !== undefined && { to }),
    seen: sightings,
    scope: ['disclosures', patientId, form, omitExempt],
    // The report does not include itself.
    isWanted: (entry) =>
      entry.eventId !== requestId &&
      (form === 'access_report' || isAccounted(disclosureStatus(entry), omitExempt)),
  };
  return { filter, sightings };
}

async function* inParts(
  ports: DisclosurePorts,
  entries: AsyncIterable<AuditEntry[]>,
  sightings: Sightings,
): AsyncGenerator<Disclosure[]> {
  for await (const part of entries) yield await toDisclosures(ports, part, sightings);
}

async function toDisclosures(
  { names }: DisclosurePorts,
  entries: readonly AuditEntry[],
  sightings: Sightings,
): Promise<Disclosure[]> {
  await names.learn(entries.map(({ principal }) => principal));
  return entries.map((entry) => toDisclosure(entry, sightings, (principal) => names.nameOf(principal)));
}

async function recordReport(
  { eventLog }: DisclosurePorts,
  caller: Caller,
  { patientId, form, from, to, omitExempt }: DisclosureQuery,
  how: Record<string, unknown>,
): Promise<void> {
  const asked = { form, from, to, ...(omitExempt && { omit_exempt: true }), ...how };
  await recordAccess(eventLog, caller, {
    action: 'record.disclosures',
    kind: patient.kind,
    record_id: patientId,
    query: asked,
  });
}
