import type { RecordedEvent } from '../src/domain/events/event.ts';
import { isProgram } from '../src/domain/events/eventMetadata.ts';
import type { Row } from '../src/storage/readModels.ts';
import type { AuditEntry } from './auditEntry.ts';
import { newestFirst } from './newestFirst.ts';

/** The entry of a refused request, or of a batch with refused lines. */
export type RefusedRequest = AuditEntry & Required<Pick<AuditEntry, 'code'>>;

/** The properties by which refused requests can be found; `key` is the id of the API key or source. */
export const requestFacets = ['key', 'field', 'code', 'status'] as const;
export type RequestFacet = (typeof requestFacets)[number];

/** Values that an entry must have; any if omitted. */
export type RequestFacetValues = Partial<Record<RequestFacet, string>>;

/** A batch's entry has several values for a facet. */
const facetValues: Record<RequestFacet, (entry: RefusedRequest) => readonly string[]> = {
  key: ({ principal }) => [principal.id],
  field: ({ fields, lines }) => fields ?? Object.keys(lines?.fields ?? {}),
  code: ({ code, lines }) => (lines ? Object.keys(lines.refused) : [code]),
  status: ({ status }) => (status === undefined ? [] : [String(status)]),
};

/** Whether an entry is for a refused request. */
export function isRefusedRequest(entry: AuditEntry): entry is RefusedRequest {
  const { action, code } = entry;
  return code !== undefined && (action === 'request.refused' || action === 'record.batch');
}

/** Whether a refused request has all these values. */
export function hasRequestFacets(entry: RefusedRequest, wanted: RequestFacetValues): boolean {
  return requestFacets.every((facet) => {
    const value = wanted[facet];
    return value === undefined || facetValues[facet](entry).includes(value);
  });
}

/**
 * Returns the shortest of the lists of refused requests that contains all those with these values; undefined if there are no
 * values.
 */
export function requestList(wanted: RequestFacetValues): string | undefined {
  const { key, ...others } = wanted;
  const ofKey = key === undefined ? [] : [listed('key', key)];
  const other = requestFacets.find((facet) => facet !== 'key' && others[facet] !== undefined);
  const parts = [...ofKey, ...(other === undefined ? [] : [listed(other, wanted[other] as string)])];
  return parts.length === 0 ? undefined : parts.join(' ');
}

/** Returns the partition that lists the refused requests of a workspace's keys and sources, newest first. */
export function requestsPartition(workspace: string): string {
  return `${workspace} requests`;
}

/** Returns the id of a refused request's row. */
export function refusedRequestId(workspace: string, requestId: string): string {
  return `${workspace} request/${requestId}`;
}

/** Returns the row of an entry, if it is for a refused request. Refused dashboard pages are kept separate. */
export function refusedRequestRow(
  { id, metadata, position }: RecordedEvent,
  entry: AuditEntry,
): Row<RefusedRequest> | undefined {
  if (!isRefusedRequest(entry)) return undefined;
  const { workspace } = metadata;
  const isOfProgram = isProgram(entry.principal);
  return {
    id: refusedRequestId(workspace, entry.requestId ?? id),
    partition: isOfProgram ? requestsPartition(workspace) : `${workspace} refused pages`,
    order: newestFirst(position),
    position,
    body: entry,
    lists: isOfProgram ? listsOf(entry) : [],
  };
}

function listsOf(entry: RefusedRequest): string[] {
  const [ofKey, ...others] = requestFacets.flatMap((facet) =>
    [...new Set(facetValues[facet](entry))].map((value) => listed(facet, value)),
  );
  return [ofKey as string, ...others, ...others.map((other) => `${ofKey} ${other}`)];
}

function listed(facet: RequestFacet, value: string): string {
  return `${facet}=${encodeURIComponent(value)}`;
}
