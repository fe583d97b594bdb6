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
import { announcement, type Trigger, triggerByLog } from './counts.ts';
import type { CachedSteps, Step } from './replay.ts';
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
  revision?: number | undefined;
  /** Position of the tombstone that comes last; 0 where none does. */
  erasedAt: Position;
  last?: Pick<EncounterReadinessChanged, 'to' | 'rules'> & Partial<EncounterReadinessChanged>;
}

/** A change, and what the encounter's stream is taken to say; undefined where it has to be read. */
interface OpenChange {
  change: EntryChange;
  foreseen: Announced | undefined;
}

/** What is to be appended for a change, or the revision up to which its stream says so already. */
interface Decision {
  append?: Append;
  revision?: number | undefined;
}

/**
 * Appends an event for each encounter whose readiness has changed; resolves, by the encounters' ids, with the revisions of the last
 * events in the streams that now say what the changes led to. A stream is read only where its row does not tell how far it goes, or
 * tells it wrongly: each append expects the revision that it is based on. An announcement is never repeated, neither after a
 * crash nor when the worklist is rebuilt: the encounter's stream shows it. Rejects with `unavailable`.
 */
export async function announceChanges(
  ports: QueryPorts,
  changes: readonly EntryChange[],
  announcing: Announcing,
): Promise<Map<string, number>> {
  const said = new Map<string, number>();
  const causes = new Causes(ports, announcing.workspace);
  let open: OpenChange[] = changes
    .filter(isNews)
    .map((change) => ({ change, foreseen: foresee(change, announcing) }));
  while (open.length > 0) {
    const wave = open.slice(0, AT_ONCE);
    const decisions = await Promise.all(wave.map((one) => decide(ports.eventLog, one, announcing, causes)));
    const appends = decisions.flatMap(({ append }) => append ?? []);
    const answers = (appends.length === 0 ? [] : await ports.eventLog.appendEach(appends)).values();
    const again: OpenChange[] = [];
    for (const [index, { append, revision: known }] of decisions.entries()) {
      const { change } = wave[index] as OpenChange;
      const answer = append && answers.next().value;
      if (!(answer instanceof ServiceError)) {
        const revision = answer?.revision ?? known;
        if (revision !== undefined) said.set((change.after as WorklistEntry).encounter_id, revision);
      } else if (answer.code === 'version_conflict') again.push({ change, foreseen: undefined });
      else throw answer;
    }
    open = [...again, ...open.slice(AT_ONCE)];
  }
  return said;
}

function isNews({ before, after }: EntryChange): boolean {
  if (after === undefined) return false;
  const stateBefore = before?.state ?? 'not_completed';
  return (
    stateBefore !== after.state ||
    (after.state !== 'not_completed' && !finds(after, before && codesOf(before)))
  );
}

/** Returns what the stream probably says, by the encounter's row; undefined where the row does not tell. */
function foresee(
  { before, announcedAt, trigger }: EntryChange,
  { quietUntil }: Announcing,
): Announced | undefined {
  if (before !== undefined && announcedAt !== undefined)
    return { revision: announcedAt, erasedAt: 0, last: { to: before.state, rules: codesOf(before) } };
  // A new encounter, or one that was never completed: nothing has been said of it.
  const isUnsaid = before === undefined ? trigger.position > quietUntil : before.state === 'not_completed';
  return isUnsaid ? { erasedAt: 0 } : undefined;
}

/** Resolves with what is to be appended for a change; without an append where it was announced, or is not news. */
async function decide(
  eventLog: EventLog,
  { change, foreseen }: OpenChange,
  { workspace, rulesVersion, quietUntil }: Announcing,
  causes: Causes,
): Promise<Decision> {
  const { before, after, trigger: likely } = change;
  const { encounter_id, state: to } = after as WorklistEntry;
  const stream = encounterReadinessStream(workspace, encounter_id);
  const { revision, erasedAt, last } = foreseen ?? (await announced(eventLog, stream));
  if (erasedAt > likely.position) return {};
  if (last?.to === to && finds(after as WorklistEntry, last.rules)) return { revision };
  // Without an earlier entry the worklist is being rebuilt: then only what differs from what was said by the same
  // rules is news.
  if (before === undefined && (last ? last.rules_version !== rulesVersion : likely.position <= quietUntil))
    return {};
  const { cause, requestId } = await causes.of(change);
  const from = before?.state ?? last?.to;
  const rules = codesOf(after as WorklistEntry).sort();
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
  return { append: { stream, event, expected: revision ?? 'none' } };
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

/** What led to changes of one workspace. */
class Causes {
  readonly #ports: QueryPorts;
  readonly #workspace: string;
  /** What was read for one change, and is the same for others. */
  readonly #read: CachedSteps = new Map<string, Promise<Step[]>>();

  constructor(ports: QueryPorts, workspace: string) {
    this.#ports = ports;
    this.#workspace = workspace;
  }

  /** Looks in the log where the change does not tell. Rejects with `unavailable`. */
  async of({ after, trigger, isUnsure, triggerInBatch }: EntryChange): Promise<Trigger> {
    if (!isUnsure) return trigger;
    const known = await triggerInBatch?.();
    if (known) return known;
    const found = await triggerByLog(this.#ports, this.#workspace, after as WorklistEntry, this.#read);
    return found ?? trigger;
  }
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
