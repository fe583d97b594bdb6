import { ServiceError } from '../../errors.ts';
import type { EncounterReadinessChanged, ReadinessCause } from '../../events/encounterReadiness.ts';
import { dataAs, type Position, type RecordedEvent } from '../../events/event.ts';
import { tombstoneTypes } from '../../events/recordErased.ts';
import {
  documentIdsOf,
  encounterReadinessStream,
  kindOfStream,
  recordIdOf,
} from '../../events/streamNames.ts';
import { upcast } from '../../events/upcast.ts';
import type { Append, EventLog } from '../../ports/eventLog.ts';
import { announcement } from './announcement.ts';
import type { EntryChange } from './evaluateRows.ts';
import { codesOf, type WorklistEntry } from './worklistEntry.ts';

/** What led to an evaluation. */
export interface Trigger {
  /** Left out where a finding began or ended by itself. */
  cause?: ReadinessCause;
  /** Of the event; without one beyond all events. */
  position: Position;
  /** The request that brought it about. */
  requestId?: string;
}

/** What led to an evaluation because of an event. */
export function triggerOf({ id: event_id, stream, revision, position, metadata }: RecordedEvent): Trigger {
  const kind = kindOfStream(stream);
  const id = kind === 'document' ? documentIdsOf(stream).documentId : recordIdOf(stream);
  const cause = { event_id, kind, id, version: revision + 1 };
  return { cause, position, requestId: metadata.requestId };
}

/** Where, and by which rules, changes are announced. */
export interface Announcing {
  workspace: string;
  rulesVersion: string;
  /** Up to here the log was there before the worklist: what is told of it for the first time is no news. */
  quietUntil: Position;
}

const TYPE = 'EncounterReadinessChanged';
const AT_ONCE = 100;
/** An event of billing, or tombstones, may stand behind the last announcement. */
const LOOKED_AT = 20;

/** What the stream of an encounter says last. */
interface Said {
  /** Revision of its last event. */
  revision: number | undefined;
  /** Position of the tombstone that stands last; 0 where none does. */
  erasedAt: Position;
  last?: EncounterReadinessChanged;
}

/**
 * Appends an event for each encounter whose readiness is another one than before. An announcement that was made is not made again,
 * neither after a crash nor when the worklist is built anew: the stream of the encounter tells. Rejects with `unavailable`.
 */
export async function announceChanges(
  eventLog: EventLog,
  changes: readonly EntryChange[],
  announcing: Announcing,
): Promise<void> {
  let open = changes.filter(isNews);
  while (open.length > 0) {
    const wave = open.slice(0, AT_ONCE);
    const appends = await Promise.all(wave.map((change) => appendOf(eventLog, change, announcing)));
    const made = appends.flatMap((append, index) =>
      append ? [{ append, change: wave[index] as EntryChange }] : [],
    );
    const answers = await eventLog.appendEach(made.map(({ append }) => append));
    const failed = answers.find(
      (answer) => answer instanceof ServiceError && answer.code !== 'version_conflict',
    );
    if (failed) throw failed;
    // Something else was appended to the stream meanwhile: it is looked at again.
    const again = made
      .filter((_, index) => answers[index] instanceof ServiceError)
      .map(({ change }) => change);
    open = [...again, ...open.slice(AT_ONCE)];
  }
}

function isNews({ before, after }: EntryChange): boolean {
  if (after === undefined) return false;
  const stateBefore = before?.state ?? 'not_completed';
  return (
    stateBefore !== after.state ||
    (after.state !== 'not_completed' && !finds(after, before && codesOf(before)))
  );
}

/** Whether the rules that find something are these, in any order. */
function finds(entry: WorklistEntry, codes: readonly string[] | undefined): boolean {
  const own = codesOf(entry);
  return codes !== undefined && own.length === codes.length && own.every((code) => codes.includes(code));
}

/** What is to be appended for a change; undefined where it was announced, or is no news. */
async function appendOf(
  eventLog: EventLog,
  { before, after, trigger }: EntryChange,
  { workspace, rulesVersion, quietUntil }: Announcing,
): Promise<Append | undefined> {
  const { encounter_id, state: to } = after as WorklistEntry;
  const stream = encounterReadinessStream(workspace, encounter_id);
  const { revision, erasedAt, last } = await said(eventLog, stream);
  const isSaid = last?.to === to && finds(after as WorklistEntry, last.rules);
  // Without an entry before, it is built anew: then only what differs from what was said by the same rules is news.
  const isOld =
    before === undefined && (last ? last.rules_version !== rulesVersion : trigger.position <= quietUntil);
  if (erasedAt > trigger.position || isSaid || isOld) return undefined;
  const from = before?.state ?? last?.to;
  const rules = codesOf(after as WorklistEntry).sort();
  const { cause, requestId } = trigger;
  const data: EncounterReadinessChanged = {
    encounter_id,
    ...(from !== undefined && { from }),
    to,
    rules,
    ...(cause && { cause }),
    rules_version: rulesVersion,
  };
  const parts = [stream, revision, cause?.event_id, rulesVersion, to, rules];
  const event = announcement(workspace, parts, requestId, TYPE, { ...data });
  return { stream, event, expected: revision ?? 'none' };
}

async function said(eventLog: EventLog, stream: string): Promise<Said> {
  const events = await eventLog.readStream(stream, { direction: 'backwards', limit: LOOKED_AT });
  const [newest] = events;
  const last = events.find(({ type }) => type === TYPE);
  return {
    revision: newest?.revision,
    erasedAt: newest !== undefined && tombstoneTypes.includes(newest.type) ? newest.position : 0,
    ...(last && { last: dataAs<EncounterReadinessChanged>(upcast(last).data) }),
  };
}
