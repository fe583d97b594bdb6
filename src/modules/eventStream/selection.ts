import { readinessStream } from '../../domain/events/streamNames.ts';
import type { EventFilter } from '../../storage/eventLog.ts';
import { feedEventTypes, kindsOf } from './cloudEvent.ts';

/** What happens to events that changed no field of their record. */
export const unchangedEvents = ['skip', 'send'] as const;
export type UnchangedEvents = (typeof unchangedEvents)[number];

/** Which events a subscriber receives, and in which form; equal selections share their bytes. */
export interface Selection {
  workspace: string;
  view: 'full' | 'deidentified';
  /** Types of events, named as in `FeedEventType`, in the order of `feedEventTypes`. */
  eventTypes: string[];
  /** `skip`: omits those that changed no field of their record (`isUnchanged`). */
  unchanged: UnchangedEvents;
  /** `sse`: frames of server-sent events; `ndjson`: one line per event. */
  format: 'sse' | 'ndjson';
  /** The service's address as known to the subscriber: `https://chartledger.example.com`. */
  address: string;
}

/** Restricts the log to where a selection's events are; this includes some that it does not want. */
export function logFilter({
  workspace,
  eventTypes,
}: Pick<Selection, 'workspace' | 'eventTypes'>): EventFilter {
  if (eventTypes.length === feedEventTypes.length) return { streamPrefixes: [`${workspace}.`] };
  const prefixOf = (kind: string) =>
    // Besides the streams of the encounters, there is the workspace's own.
    kind === 'readiness' ? readinessStream(workspace) : `${workspace}.${kind}-`;
  return { streamPrefixes: [...kindsOf(eventTypes)].map(prefixOf) };
}
