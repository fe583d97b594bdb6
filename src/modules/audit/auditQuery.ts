import { z } from 'zod';
import { auditFacets } from '../../../projections/auditSignature.ts';
import { encounterReadinessStream, recordStream } from '../../domain/events/streamNames.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import { validate, validationError } from '../../domain/records/schema/validate.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { isPageView } from './isPageView.ts';
import { patientThings } from './patientThings.ts';
import type { AuditFilter } from './readAuditTrail.ts';
import { type SightedThing, sightedThing } from './SightedThing.ts';
import { Sightings } from './Sightings.ts';

/** A parameter that was sent twice is ignored. */
const value = z.string().optional().catch(undefined);
const moment = requiredDate('2026-03-14T12:00').optional();

const querySchema = z.object({
  from: moment,
  to: moment,
  principal: value,
  kind: value,
  id: value,
  action: value,
  outcome: value,
  /**
   * Who has seen the record with that kind and id, instead of what was done with it by name; with `all`, for a patient, also who
   * has seen its encounters and their documents.
   */
  seen: value,
  /** If given: without what users looked at on the dashboard. */
  without_views: value,
  page_token: value,
});

/** The names of the parameters that limit the trail, and of the page. */
export const auditParameters: readonly string[] = Object.keys(querySchema.shape);

/** The limits of an audit trail query. Times without an offset are UTC. */
export type AuditQuery = z.infer<typeof querySchema>;

/** Parses the parameters sent as a query. Throws `validation_failed`. */
export function auditQuery(sent: Record<string, unknown>): AuditQuery {
  const query = validate(querySchema, sent);
  if (query.seen !== undefined && (recordKindOf(query) === undefined || query.id === undefined)) {
    throw validationError([{ field: 'seen', message: 'requires a kind of record and a record id' }]);
  }
  return query;
}

function recordKindOf({ kind }: AuditQuery): string | undefined {
  return catalog.find((entry) => entry.kind === kind)?.kind;
}

/** Returns the limits of the query, as sent: for links, and for the audit trail entry of the read itself. */
export function limitsOf({ page_token: _token, ...limits }: AuditQuery): Record<string, string> {
  return Object.fromEntries(
    Object.entries(limits).filter((limit): limit is [string, string] => limit[1] !== undefined),
  );
}

/**
 * Returns the query as a filter for a workspace's trail. Rejects with `unavailable`; with `not_found` for all of a patient that
 * never existed.
 */
export async function auditFilter(
  ports: QueryPorts,
  workspace: string,
  query: AuditQuery,
): Promise<AuditFilter> {
  const filter: AuditFilter = {};
  for (const facet of auditFacets) if (query[facet] !== undefined) filter[facet] = query[facet];
  for (const bound of ['from', 'to'] as const) {
    const sent = query[bound];
    if (sent !== undefined) filter[bound] = new Date(instantOf(sent)).toISOString();
  }
  if (query.without_views !== undefined) {
    filter.isWanted = (entry) => !isPageView(entry);
    filter.scope = ['without_views'];
  }
  const kind = recordKindOf(query);
  if (query.seen === undefined || kind === undefined || query.id === undefined) return filter;
  const { kind: _kind, id: _id, ...others } = filter;
  return {
    ...others,
    scope: [query.seen, kind, query.id],
    seen: new Sightings(await sightedThings(ports, workspace, query.seen, kind, query.id)),
  };
}

async function sightedThings(
  ports: QueryPorts,
  workspace: string,
  seen: string,
  kind: string,
  id: string,
): Promise<SightedThing[]> {
  if (seen === 'all' && kind === patient.kind) return patientThings(ports, workspace, id);
  const streams = [recordStream(workspace, kind, id)];
  if (kind === encounter.kind) streams.push(encounterReadinessStream(workspace, id));
  return Promise.all(streams.map((stream) => sightedThing(ports.eventLog, stream)));
}
