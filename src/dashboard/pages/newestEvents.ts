import type { AuditEntry } from '../../../projections/auditEntry.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import {
  documentStream,
  encounterReadinessStream,
  readinessStream,
  recordStream,
} from '../../domain/events/streamNames.ts';
import { readAuditTrail } from '../../modules/audit/readAuditTrail.ts';
import { ChangedFields } from '../../modules/eventStream/ChangedFields.ts';
import {
  type CloudEvent,
  feedEventType,
  feedEventTypes,
  toCloudEvent,
} from '../../modules/eventStream/cloudEvent.ts';
import type { Deidentifier } from '../../modules/eventStream/Deidentifier.ts';
import type { EventFeed } from '../../modules/eventStream/EventFeed.ts';
import type { Selection } from '../../modules/eventStream/selection.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { UnreadableError } from '../../platform/errors.ts';

export interface NewestEventsPorts extends QueryPorts {
  feed: EventFeed;
}

/** Which events of a workspace are wanted, and how they are shown. */
export interface Wanted extends Pick<Selection, 'workspace' | 'view' | 'address'> {
  /** Only events of records of this kind, of documents, or of readiness. */
  kind: string | undefined;
  /** Only those after this position. */
  after?: Position;
  pageToken?: string | undefined;
}

/** Why an event cannot be shown. */
export type Missing = 'erased' | 'unreadable';

/** An event that the stream carries, and what the audit trail says about it. */
export interface FoundEvent {
  /** As named by the stream. */
  kind: string;
  entry: AuditEntry;
  event: CloudEvent | Missing;
}

export interface FoundEvents {
  items: FoundEvent[];
  next_page_token: string | null;
}

export const EVENTS_A_PAGE = 20;
/** Events of a readiness stream that are looked at together. */
const LOOKED_AT = 100;

const readinessTypes = feedEventTypes.filter(({ kind }) => kind === 'readiness').map((one) => one.logType);

/** Returns the kind of an entry's event, as named by the stream; undefined where the stream does not carry it. */
function kindOf({ type, kind, version }: AuditEntry): string | undefined {
  if (readinessTypes.includes(type)) return 'readiness';
  return version === undefined ? undefined : kind;
}

/**
 * Resolves with the newest events as returned by `GET /events`, newest first. The log can only be read forwards, so
 * the audit trail is used to find out which they are. Rejects with `unavailable`.
 */
export async function newestEvents(ports: NewestEventsPorts, wanted: Wanted): Promise<FoundEvents> {
  const { workspace, kind, after = 0, pageToken } = wanted;
  const found = await readAuditTrail(
    ports,
    workspace,
    {
      // The audit trail lists the outcome of an encounter in billing under the encounter.
      ...(kind !== undefined && kind !== 'readiness' && { kind }),
      scope: ['events', kind],
      isWanted: (entry) => kindOf(entry) !== undefined && (kind === undefined || kindOf(entry) === kind),
    },
    { limit: EVENTS_A_PAGE, pageToken },
  );
  const entries = found.items.filter(({ position }) => position > after);
  const deidentify = wanted.view === 'deidentified' ? await ports.feed.deidentifier() : undefined;
  const items = await Promise.all(entries.map((entry) => findEvent(ports, wanted, entry, deidentify)));
  return { items: items.filter((item) => item !== undefined), next_page_token: found.next_page_token };
}

/** Resolves with an entry's event; undefined where the event stream does not carry it. */
async function findEvent(
  { eventLog }: NewestEventsPorts,
  { workspace, address }: Wanted,
  entry: AuditEntry,
  deidentify: Deidentifier | undefined,
): Promise<FoundEvent | undefined> {
  const kind = kindOf(entry) ?? 'event';
  try {
    const event = await eventOf(eventLog, workspace, entry);
    if (event === undefined) return { kind, entry, event: 'erased' };
    if (feedEventType(event) === undefined) return undefined;
    const [change] = await new ChangedFields(eventLog).changes([event]);
    if (change === undefined || change instanceof UnreadableError)
      return { kind, entry, event: 'unreadable' };
    const whole = toCloudEvent(event, change.changed, address);
    return { kind, entry, event: deidentify ? deidentify(workspace, whole) : whole };
  } catch (error) {
    if (error instanceof UnreadableError) return { kind, entry, event: 'unreadable' };
    throw error;
  }
}

/** Resolves with an entry's event; undefined where it was erased. */
async function eventOf(
  eventLog: NewestEventsPorts['eventLog'],
  workspace: string,
  entry: AuditEntry,
): Promise<RecordedEvent | undefined> {
  const { kind = '', id = '', documentId = '', version = 1 } = entry;
  if (kindOf(entry) === 'readiness') {
    const stream =
      entry.id === undefined ? readinessStream(workspace) : encounterReadinessStream(workspace, id);
    return eventAt(eventLog, stream, entry.position);
  }
  const stream =
    kind === 'document' ? documentStream(workspace, id, documentId) : recordStream(workspace, kind, id);
  const [event] = await eventLog.readStream(stream, { from: version - 1, limit: 1 });
  return event?.position === entry.position ? event : undefined;
}

/** Resolves with the event of a stream at a position, searching from the stream's end. */
async function eventAt(
  eventLog: NewestEventsPorts['eventLog'],
  stream: string,
  position: Position,
): Promise<RecordedEvent | undefined> {
  for (let from: number | undefined; ; ) {
    const events = await eventLog.readStream(stream, {
      ...{ direction: 'backwards', limit: LOOKED_AT },
      ...(from !== undefined && { from }),
    });
    const last = events.at(-1);
    if (last === undefined || last.position <= position || last.revision === 0) {
      return events.find((event) => event.position === position);
    }
    from = last.revision - 1;
  }
}
