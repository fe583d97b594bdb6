import { LRUCache } from 'lru-cache';
import { maxTime, type RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep, erasureStepAfter } from '../../domain/events/payloads.ts';
import { isReadinessStream } from '../../domain/events/streams.ts';
import { assertNextVersion, upcast } from '../../domain/events/upcasting.ts';
import { changedFields, mergeFields, type RecordState } from '../../domain/records/fold.ts';
import type { CatalogEntry, RecordFields } from '../../domain/records/schema/kind.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type CloudEvent, feedEventTypes, sentBy, toCloudEvent } from './cloudEvents.ts';
import type { Deidentifier } from './deidentification.ts';
import { type DeidentificationSettings, safeHarbor } from './deidentificationSettings.ts';

/** Total characters of all states: 32 MB of Latin letters, twice that of others. */
const MAX_CHARACTERS = 32 * 1024 * 1024;
/** The cost of a state in addition to its text. */
const STATE_CHARACTERS = 350;
const PAGE = 500;
/** Number of streams read concurrently. */
const READS_AT_ONCE = 32;

const noFields = {} as RecordFields;

/** A stream folded up to a revision. */
interface State {
  readonly revision: number;
  /** The fields as JSON: text takes less memory than the object, and shows at a glance when nothing changed. */
  readonly text: string;
  /** When the first version since it was last erased or removed, and the last one, were recorded: ISO 8601, UTC. */
  readonly createdAt: string;
  readonly updatedAt: string;
  /** Set if there are none because it was erased; for a document that was removed, there are only the ids. */
  readonly erased?: true;
  readonly removed?: true;
}

/** The effect of an event. */
export interface Change {
  /** The fields that were sent, as JSON. */
  sent: string;
  /** Names of those whose value it changed. */
  changed: string[];
  /** Whether nothing existed before, or all of it was erased. */
  isFirst: boolean;
  /** What the record or document is after it; absent for an event of readiness. */
  after?: Readonly<State>;
}

/** Whether an event changed no field of an existing record: neither a first version nor an erasure. */
export function isUnchanged(
  event: RecordedEvent,
  { changed, isFirst }: Pick<Change, 'changed' | 'isFirst'>,
): boolean {
  return changed.length === 0 && !isFirst && erasureStep(event) === undefined;
}

/** The effect of an event; or the error, if it or an earlier event in its stream cannot be read. */
export type ChangeOrError = Change | UnreadableError;

/**
 * Determines which fields events changed. The latest states are remembered, in bounded memory, so that going through the log in
 * order causes no reads of streams.
 */
export class ChangedFields {
  readonly #eventLog: EventLog;
  readonly #states = new LRUCache<string, State>({
    maxSize: MAX_CHARACTERS,
    sizeCalculation: ({ text }, stream) => STATE_CHARACTERS + stream.length + text.length,
  });

  constructor(eventLog: EventLog) {
    this.#eventLog = eventLog;
  }

  /**
   * Returns the effect of each event. Those of one stream must be consecutive, except those of readiness. Rejects with
   * `unavailable`.
   */
  async changes(events: RecordedEvent[]): Promise<ChangeOrError[]> {
    const states = await this.#statesBefore(events);
    const changes = events.map((event) => {
      if (isReadinessStream(event.stream)) return unlessUnreadable(() => statement(event));
      const before = states.get(event.stream);
      if (before instanceof UnreadableError) return before;
      const applied = unlessUnreadable(() => apply(before, event));
      if (applied instanceof UnreadableError) {
        states.set(event.stream, applied);
        return applied;
      }
      states.set(event.stream, applied.state);
      return applied.change;
    });
    for (const [stream, state] of states) {
      if (state instanceof UnreadableError) this.#states.delete(stream);
      else this.#states.set(stream, state);
    }
    return changes;
  }

  /** Returns the states of the streams before the first event of each, or the errors. */
  async #statesBefore(events: RecordedEvent[]): Promise<Map<string, State | UnreadableError>> {
    const states = new Map<string, State | UnreadableError>();
    const missing: { stream: string; revision: number }[] = [];
    const seen = new Set<string>();
    for (const { stream, revision } of events) {
      if (seen.has(stream) || isReadinessStream(stream)) continue;
      seen.add(stream);
      if (revision === 0) continue;
      const known = this.#states.get(stream);
      if (known?.revision === revision - 1) states.set(stream, known);
      else missing.push({ stream, revision });
    }
    for (let from = 0; from < missing.length; from += READS_AT_ONCE) {
      const reading = missing.slice(from, from + READS_AT_ONCE).map(async ({ stream, revision }) => {
        states.set(stream, await this.#foldBelow(stream, revision).catch(asUnreadable));
      });
      await Promise.all(reading);
    }
    return states;
  }

  async #foldBelow(stream: string, revision: number): Promise<State> {
    let state: State | undefined;
    for (let from = 0; from < revision; ) {
      const limit = Math.min(PAGE, revision - from);
      const events = await this.#eventLog.readStream(stream, { from, limit });
      // If earlier versions were erased, a stream begins with a later one.
      for (const event of events) if (event.revision < revision) state = apply(state, event).state;
      from = (events.at(-1)?.revision ?? revision) + 1;
    }
    return state as State;
  }
}

function unlessUnreadable<Result>(work: () => Result): Result | UnreadableError {
  try {
    return work();
  } catch (error) {
    return asUnreadable(error);
  }
}

/** Returns the effect of a readiness event. It stands alone: all of it is new, whatever came before. */
function statement(event: RecordedEvent): Change {
  const sent = sentBy(upcast(event));
  const isErasure = erasureStep(event) !== undefined;
  const changed = isErasure ? [] : Object.keys(sent).filter((field) => field !== 'encounter_id');
  return { sent: JSON.stringify(sent), changed, isFirst: false };
}

/** Returns the state after an event. */
function apply(last: State | undefined, event: RecordedEvent): { state: State; change: Change } {
  const { revision, type, recordedAt } = event;
  const current = upcast(event);
  const updatedAt = maxTime(last?.updatedAt, recordedAt);
  const sent = sentBy(current) as RecordFields;
  const version = last === undefined ? 0 : last.revision + 1;
  const erasure = erasureStepAfter(version, event);
  if (erasure === 'done') {
    const state: State = { revision, text: '{}', createdAt: updatedAt, updatedAt, erased: true };
    return changeTo(state, { sent: JSON.stringify(sent), changed: [], isFirst: false });
  }
  assertNextVersion(version, event);
  if (erasure === 'begun' && last)
    return changeTo({ ...last, revision }, { sent: '{}', changed: [], isFirst: false });
  const before = last?.erased ? undefined : last;
  const isFirst = before === undefined;
  const times = { createdAt: before?.removed ? updatedAt : (before?.createdAt ?? updatedAt), updatedAt };
  // An upload contains everything about a document; a removal leaves nothing but its ids.
  const isDocument = type.startsWith('Document');
  const { dataText } = current;
  const text = isDocument || dataText === undefined ? JSON.stringify(sent) : dataText;
  // A cleared field reads `:null`; if that is part of some text, this only takes longer.
  const clears = text.includes(':null');
  // Never in place: concurrent callers share the remembered states.
  if (!clears && text === before?.text) {
    return changeTo({ revision, text, ...times }, { sent: text, changed: [], isFirst });
  }
  const fields: RecordFields | undefined = before && JSON.parse(before.text);
  const replacesAll =
    isDocument || (!clears && Object.keys(fields ?? noFields).every((field) => Object.hasOwn(sent, field)));
  const after = replacesAll ? sent : mergeFields(fields ?? noFields, sent);
  return changeTo(
    {
      ...{ revision, text: after === sent ? text : JSON.stringify(after), ...times },
      ...(type === 'DocumentRemoved' && { removed: true }),
    },
    { sent: text, changed: changedFields(fields, after), isFirst },
  );
}

function changeTo(state: State, change: Omit<Change, 'after'>): { state: State; change: Change } {
  return { state, change: { ...change, after: state } };
}

/** What makes a view of the events of a workspace, with the settings in force when an event was recorded. */
export interface Narrowing {
  deidentify: Deidentifier;
  settings: DeidentificationSettings;
}

/** Returns an event that can be read as a view shows it; `address` is the service's address as known to the subscriber. */
export function toNarrowedEvent(
  { deidentify, settings }: Narrowing,
  event: RecordedEvent,
  { changed, after }: Pick<Change, 'changed' | 'after'>,
  address?: string,
): CloudEvent {
  // What it did not send matters only to these settings.
  const record = settings === safeHarbor || after === undefined ? undefined : JSON.parse(after.text);
  return deidentify(event.metadata.workspace, toCloudEvent(event, changed, address), settings, record);
}

/** A record in a snapshot, as left by the events up to its version. */
export interface SnapshotLine {
  /** As in its events: `{kind}/{percent-encoded id}`. */
  subject: string;
  version: number;
  created_at: string;
  updated_at: string;
  /** The fields as sent, merged; none is `null`, and defaults are not included. */
  record: Record<string, unknown>;
  /** As in its events. */
  pseudonymepoch?: number;
  /** As in its events. */
  deidentification?: CloudEvent['deidentification'];
}

/** Returns a record as a snapshot shows it; with a narrowing, as its view shows events. */
export function snapshotLine(
  workspace: string,
  { kind, eventType }: CatalogEntry,
  { fields, version, createdAt, updatedAt }: RecordState,
  narrowing?: Narrowing,
): SnapshotLine {
  const subject = `${kind}/${encodeURIComponent(fields.id)}`;
  if (narrowing === undefined) {
    return { subject, version, created_at: createdAt, updated_at: updatedAt, record: fields };
  }
  const type = feedEventTypes.find((one) => one.eventType === eventType)?.type as string;
  const event = {
    ...({ specversion: '1.0' } as const),
    ...{ id: '', source: '', type, subject, sequence: '' },
    datacontenttype: 'application/json',
  } as const;
  const { deidentify, settings } = narrowing;
  const data = { version, sent: fields, changed: [] };
  const shown = deidentify(workspace, { ...event, time: updatedAt, data }, settings);
  const { time: created_at } = deidentify(workspace, {
    ...event,
    time: createdAt,
    data: { version, sent: {}, changed: [] },
  });
  const { subject: hashed, time: updated_at, pseudonymepoch, deidentification } = shown;
  return {
    ...{ subject: hashed, version, created_at, updated_at, record: shown.data.sent },
    ...(pseudonymepoch !== undefined && { pseudonymepoch }),
    ...(deidentification !== undefined && { deidentification }),
  };
}
