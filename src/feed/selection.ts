import { readinessStream } from '../events/streamNames.ts';
import type { EventFilter } from '../ports/eventLog.ts';
import { feedEventTypes, kindsOf } from './format/cloudEvent.ts';

/** What becomes of events that changed no field of their record. */
export const unchangedEvents = ['skip', 'send'] as const;
export type UnchangedEvents = (typeof unchangedEvents)[number];

/** Which events a subscriber gets, and in which form; equal selections share their bytes. */
export interface Selection {
  workspace: string;
  view: 'full' | 'deidentified';
  /** Types of events as `FeedEventType` names them, in the order of `feedEventTypes`. */
  eventTypes: string[];
  /** `skip`: without those that changed no field of their record (`isUnchanged`). */
  unchanged: UnchangedEvents;
  /** `sse`: frames of server-sent events; `ndjson`: a line an event. */
  format: 'sse' | 'ndjson';
  /** The service's, as the subscriber knows it: `https://chartledger.example.com`. */
  address: string;
}

/** Narrows the log down to where a selection's events are; some that it does not want are among them. */
export function logFilter({
  workspace,
  eventTypes,
}: Pick<Selection, 'workspace' | 'eventTypes'>): EventFilter {
  if (eventTypes.length === feedEventTypes.length) return { streamPrefixes: [`${workspace}.`] };
  const prefixOf = (kind: string) =>
    // Beside the streams of the encounters there is the workspace's own.
    kind === 'readiness' ? readinessStream(workspace) : `${workspace}.${kind}-`;
  return { streamPrefixes: [...kindsOf(eventTypes)].map(prefixOf) };
}
