import type { AuditEntry } from '../../../projections/audit/auditEntry.ts';
import { readAuditTrail } from '../../audit/readAuditTrail.ts';
import { UnreadableError } from '../../errors.ts';
import type { Position } from '../../events/event.ts';
import { documentStream, recordStream } from '../../events/streamNames.ts';
import type { EventFeed } from '../../feed/EventFeed.ts';
import { ChangedFields } from '../../feed/format/ChangedFields.ts';
import { type CloudEvent, feedEventType, toCloudEvent } from '../../feed/format/cloudEvent.ts';
import type { Deidentifier } from '../../feed/format/Deidentifier.ts';
import type { Selection } from '../../feed/selection.ts';
import type { QueryPorts } from '../../reads/readRecord.ts';

export interface NewestEventsPorts extends QueryPorts {
  feed: EventFeed;
}

/** Which events of a workspace are wanted, and how they are shown. */
export interface Wanted extends Pick<Selection, 'workspace' | 'view' | 'address'> {
  /** Of records of this kind, or documents, alone. */
  kind: string | undefined;
  /** Only those after this position. */
  after?: Position;
  pageToken?: string | undefined;
}

/** What became of an event that cannot be shown. */
export type Missing = 'erased' | 'unreadable';

/** An event of a record or document, and what the audit trail tells of it. */
export interface FoundEvent {
  entry: AuditEntry;
  event: CloudEvent | Missing;
}

export interface FoundEvents {
  items: FoundEvent[];
  next_page_token: string | null;
}

export const EVENTS_A_PAGE = 20;

/**
 * The newest events of records and documents, as `GET /events` gives them, newest first. The log can only be read forwards, so
 * it is the audit trail that tells which they are. Rejects with `unavailable`.
 */
export async function newestEvents(ports: NewestEventsPorts, wanted: Wanted): Promise<FoundEvents> {
  const { workspace, kind, after = 0, pageToken } = wanted;
  const found = await readAuditTrail(
    ports,
    workspace,
    { ...(kind && { kind }), isWanted: ({ version }) => version !== undefined },
    { limit: EVENTS_A_PAGE, pageToken },
  );
  const entries = found.items.filter(({ position }) => position > after);
  const deidentify = wanted.view === 'deidentified' ? await ports.feed.deidentifier() : undefined;
  const items = await Promise.all(entries.map((entry) => findEvent(ports, wanted, entry, deidentify)));
  return { items: items.filter((item) => item !== undefined), next_page_token: found.next_page_token };
}

/** The event of an entry; undefined where the stream of events does not carry it. */
async function findEvent(
  { eventLog }: NewestEventsPorts,
  { workspace, address }: Wanted,
  entry: AuditEntry,
  deidentify: Deidentifier | undefined,
): Promise<FoundEvent | undefined> {
  const { kind = '', id = '', documentId = '', version = 1 } = entry;
  const stream =
    kind === 'document' ? documentStream(workspace, id, documentId) : recordStream(workspace, kind, id);
  try {
    const [event] = await eventLog.readStream(stream, { from: version - 1, limit: 1 });
    if (event?.position !== entry.position) return { entry, event: 'erased' };
    if (feedEventType(event) === undefined) return undefined;
    const [change] = await new ChangedFields(eventLog).changes([event]);
    if (change === undefined || change instanceof UnreadableError) return { entry, event: 'unreadable' };
    const whole = toCloudEvent(event, change.changed, address);
    return { entry, event: deidentify ? deidentify(workspace, whole) : whole };
  } catch (error) {
    if (error instanceof UnreadableError) return { entry, event: 'unreadable' };
    throw error;
  }
}
