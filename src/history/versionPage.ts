import type { EventLog, RecordedEvent } from '../ports/eventLog.ts';
import { decodeToken, encodeToken, type PageRequest } from '../queries/page.ts';
import type { Principal } from '../records/eventMetadata.ts';
import type { PrincipalNames } from './PrincipalNames.ts';

/** What every version of a stream tells: what happened, when, by whom, from where. */
export interface VersionEntry {
  version: number;
  event_id: string;
  type: string;
  recorded_at: string;
  principal: Principal & { name: string | null };
  client_ip: string | null;
  user_agent: string | null;
  request_id: string;
}

/** A page of a stream's events, newest first; empty when the stream does not exist. */
export interface EventPage {
  events: RecordedEvent[];
  next_page_token: string | null;
}

/**
 * Reads a page backwards. The token is the version that ended the page before: versions never change, so pages neither
 * skip nor repeat one while others are added.
 */
export async function readEventPage(
  eventLog: EventLog,
  stream: string,
  { limit, pageToken }: PageRequest,
): Promise<EventPage> {
  // The version before the token's has a revision two below it. A token that was made up reads the first version.
  const from = pageToken === undefined ? undefined : Math.max(decodeToken(pageToken) - 2, 0);
  const events = await eventLog.readStream(stream, {
    direction: 'backwards',
    ...(from !== undefined && { from }),
    limit,
  });
  const oldest = events.at(-1)?.revision ?? 0;
  return { events, next_page_token: oldest > 0 ? encodeToken(oldest + 1) : null };
}

/** Events as entries, with the names of their principals. */
export async function toEntries(names: PrincipalNames, events: RecordedEvent[]): Promise<VersionEntry[]> {
  await names.learn(events.map(({ metadata }) => metadata.principal));
  return events.map((event) => toEntry(names, event));
}

function toEntry(names: PrincipalNames, event: RecordedEvent): VersionEntry {
  const { principal, clientIp, userAgent, requestId } = event.metadata;
  return {
    version: event.revision + 1,
    event_id: event.id,
    type: event.type,
    recorded_at: event.recordedAt,
    principal: { ...principal, name: names.nameOf(principal) ?? null },
    client_ip: clientIp ?? null,
    user_agent: userAgent ?? null,
    request_id: requestId,
  };
}
