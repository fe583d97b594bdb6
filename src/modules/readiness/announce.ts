import { dataAs, type Position } from '../../domain/events/event.ts';
import { tombstoneTypes } from '../../domain/events/payloads.ts';
import type {
  EncounterReadinessChanged,
  ReadinessRulesApplied,
} from '../../domain/events/readinessEvents.ts';
import { encounterReadinessStream, readinessStream } from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { Append, EventLog } from '../../storage/eventLog.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { announcement, triggerByLog } from './counts.ts';
import { type EntryChange, type FanOut, readCounts } from './worklistFanOut.ts';
import { codesOf, finds, type WorklistEntry } from './worklistModel.ts';

/** Where, and by which rules, changes are announced. */
interface Announcing {
  workspace: string;
  rulesVersion: string;
  /** The log up to here predates the worklist: what is reported of it for the first time is not news. */
  quietUntil: Position;
}

const TYPE = 'EncounterReadinessChanged';
const AT_ONCE = 100;
/** Events looked at, since billing events or tombstones may come after the last announcement. */
const EVENTS_READ = 20;

/** What the stream of an encounter says last. */
interface Announced {
  /** Revision of its last event. */
  revision: number | undefined;
  /** Position of the tombstone that comes last; 0 where none does. */
  erasedAt: Position;
  last?: EncounterReadinessChanged;
}

/**
 * Appends an event for each encounter whose readiness has changed. An announcement is never repeated, neither after a
 * crash nor when the worklist is rebuilt: the encounter's stream shows it. Rejects with `unavailable`.
 */
export async function announceChanges(
  ports: QueryPorts,
  changes: readonly EntryChange[],
  announcing: Announcing,
): Promise<void> {
  let open = changes.filter(isNews);
  while (open.length > 0) {
    const wave = open.slice(0, AT_ONCE);
    const appends = await Promise.all(wave.map((change) => appendOf(ports, change, announcing)));
    const made = appends.flatMap((append, index) =>
      append ? [{ append, change: wave[index] as EntryChange }] : [],
    );
    const answers = await ports.eventLog.appendEach(made.map(({ append }) => append));
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

/** Resolves with what is to be appended for a change; undefined where it was announced, or is not news. */
async function appendOf(
  ports: QueryPorts,
  { before, after, trigger: likely, isUnsure }: EntryChange,
  { workspace, rulesVersion, quietUntil }: Announcing,
): Promise<Append | undefined> {
  const { encounter_id, state: to } = after as WorklistEntry;
  const stream = encounterReadinessStream(workspace, encounter_id);
  const { revision, erasedAt, last } = await announced(ports.eventLog, stream);
  const isSaid = last?.to === to && finds(after as WorklistEntry, last.rules);
  // Without an earlier entry the worklist is being rebuilt: then only what differs from what was said by the same
  // rules is news.
  const isOld =
    before === undefined && (last ? last.rules_version !== rulesVersion : likely.position <= quietUntil);
  if (erasedAt > likely.position || isSaid || isOld) return undefined;
  const trigger = (isUnsure && (await triggerByLog(ports, workspace, after as WorklistEntry))) || likely;
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

async function announced(eventLog: EventLog, stream: string): Promise<Announced> {
  const events = await eventLog.readStream(stream, { direction: 'backwards', limit: EVENTS_READ });
  const [newest] = events;
  const last = events.find(({ type }) => type === TYPE);
  return {
    revision: newest?.revision,
    erasedAt: newest !== undefined && tombstoneTypes.includes(newest.type) ? newest.position : 0,
    ...(last && { last: dataAs<EncounterReadinessChanged>(upcast(last).data) }),
  };
}

/**
 * Appends one event on the effect of a change to the rule settings, once all encounters have been evaluated by them;
 * nothing for other changes. Rejects with `unavailable`.
 */
export async function announceRules(
  { eventLog, readModels }: QueryPorts,
  { workspace, trigger, before }: FanOut,
): Promise<void> {
  const { cause, requestId } = trigger;
  if (before === undefined || cause === undefined) return;
  const after = (await readCounts(readModels, workspace, {}))?.states ?? {};
  const data: ReadinessRulesApplied = { cause: cause.event_id, before, after };
  const parts = [workspace, cause.event_id];
  const event = announcement(workspace, parts, requestId, 'ReadinessRulesApplied', { ...data });
  await eventLog.append(readinessStream(workspace), event, 'any');
}
