import type { AuditEntry } from '../../../projections/auditEntry.ts';
import { everyTerm } from '../../domain/events/disclosureTerms.ts';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import { type DisclosureStatus, disclosureStatus, EXEMPTION } from './disclosureStatus.ts';
import type { Sighting, Sightings } from './Sightings.ts';

/** Maximum number of things named for one entry; the rest are counted. */
const MOST_NAMED = 20;
/** Maximum number of version runs listed. */
const MOST_RUNS = 20;

/** A record or document of which something was disclosed. */
export interface DisclosedThing {
  kind: string;
  /** For a document, the id of its encounter. */
  id: string;
  document_id?: string;
  /** `1-3, 5`; absent if the entry names no versions. */
  versions?: string;
}

/** One access to a patient's data; reports list the newest first. It contains ids and versions, never the value of a field. */
export interface Disclosure {
  /** ISO 8601, UTC. What was sent to streams and webhooks is recorded within a minute. */
  disclosed_at: string;
  /** As in the audit trail: `record.read`, `webhook.sent` … */
  action: string;
  principal: Principal & { name: string | null };
  webhook_id: string | null;
  what: DisclosedThing[];
  /** How many more things there were. */
  what_more: number;
  /** `id`: the entry names it; `range`: it lies where a list, stream, webhook or export was shown events, and may have been left out. */
  found_by: 'id' | 'range';
  /** The view of the events that was disclosed, if not everything. */
  view: 'reference' | 'deidentified' | null;
  /** As stated at the time of disclosure; null if not stated. */
  recipient: string | null;
  recipient_address: string | null;
  purpose: string | null;
  purpose_statement: string | null;
  status: DisclosureStatus;
  /** The provision that exempts it from accountings. */
  exemption: string | null;
  client_ip: string | null;
  request_id: string;
  event_id: string;
  position: number;
}

/** Converts an audit trail entry, which is a sighting. */
export function toDisclosure(
  entry: AuditEntry,
  sightings: Sightings,
  nameOf: (principal: Principal) => string | undefined,
): Disclosure {
  const { principal, kind, id, shown, disclosedTo = {} } = entry;
  const status = disclosureStatus(entry);
  const things = thingsIn(entry, sightings);
  return {
    disclosed_at: entry.recordedAt,
    action: entry.action ?? entry.type,
    principal: { ...principal, name: nameOf(principal) ?? null },
    webhook_id: kind === 'webhook' ? (id ?? null) : null,
    what: things.slice(0, MOST_NAMED),
    what_more: Math.max(0, things.length - MOST_NAMED),
    found_by: shown === undefined || shown.things ? 'id' : 'range',
    view: shown?.view ?? null,
    ...everyTerm(disclosedTo),
    status,
    exemption: status === 'exempt' ? EXEMPTION : null,
    client_ip: entry.clientIp ?? null,
    request_id: entry.requestId ?? entry.eventId,
    event_id: entry.eventId,
    position: entry.position,
  };
}

function thingsIn(entry: AuditEntry, sightings: Sightings): DisclosedThing[] {
  const { kind, id, documentId, shown } = entry;
  if (shown !== undefined) return sightings.in(entry).map(toThing);
  if (kind === undefined || id === undefined) return [];
  return [{ kind, id, ...(documentId !== undefined && { document_id: documentId }) }];
}

function toThing({ thing, versions }: Sighting): DisclosedThing {
  const { kind, id, documentId } = thing;
  return {
    kind,
    id,
    ...(documentId !== undefined && { document_id: documentId }),
    ...(versions.length > 0 && { versions: versionText(versions) }),
  };
}

/** Formats versions, in ascending order, as runs: `1-3, 5`; of too many runs, only the first and last version. */
function versionText(versions: readonly number[]): string {
  const runs: [first: number, last: number][] = [];
  for (const version of versions) {
    const run = runs.at(-1);
    if (run && version <= run[1] + 1) run[1] = version;
    else runs.push([version, version]);
  }
  const text = ([first, last]: readonly [number, number]) =>
    first === last ? `${first}` : `${first}-${last}`;
  const [first, last] = [runs[0]?.[0] ?? 0, runs.at(-1)?.[1] ?? 0];
  return runs.length <= MOST_RUNS ? runs.map(text).join(', ') : `some of ${text([first, last])}`;
}
