import type { RecordedEvent } from '../../domain/events/event.ts';
import { recordStream, workspaceOfStream } from '../../domain/events/streams.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import { asUnreadable } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { foldStream } from '../records/queries/records.ts';
import { type Trigger, triggerAmong } from './counts.ts';
import type { Evaluation } from './evaluate.ts';
import { ReadinessReplay, type Step } from './replay.ts';
import { CODE_SET_LOADED } from './rules/codeSets.ts';
import { billedRecord, factsOf, namedBy, recordKey, sameVisitOf } from './rules/facts.ts';
import { findingsOf } from './rules/index.ts';
import { type BilledRecord, isRuleSetting, type RuleSettings } from './rules/rule.ts';
import { isAnnouncedAlike, type WorklistEntry, worklistEntry } from './worklistModel.ts';

/** A record before a batch, undefined where there was none, and its versions in the batch. */
interface BatchVersions {
  before: BilledRecord | undefined;
  steps: Step[];
}

/** Whether an encounter was as an entry says when there were these records. */
function isAsBefore(
  records: ReadonlyMap<string, BilledRecord>,
  encounterId: string,
  settings: RuleSettings,
  entry: WorklistEntry,
): boolean {
  const named = factsOf(records, encounterId);
  if (named === undefined) return false;
  const facts = { ...named, sameVisit: sameVisitOf(named.encounter, [...records.values()]) };
  return isAnnouncedAlike(worklistEntry({ facts, findings: findingsOf(facts, settings) }, Date.now()), entry);
}

/** A batch of events that led to evaluations, and what it tells about them. */
export class FollowedEvents {
  readonly #eventLog: EventLog;
  readonly #events: readonly RecordedEvent[];
  #byStream: Map<string, RecordedEvent[]> | undefined;
  readonly #versions = new Map<string, Promise<BatchVersions | undefined>>();

  /** `events`: in the order of the log. */
  constructor(eventLog: EventLog, events: readonly RecordedEvent[]) {
    this.#eventLog = eventLog;
    this.#events = events;
  }

  /**
   * Resolves with what `triggerByLog` would find for an encounter; undefined where something may have led to it that is not in the
   * batch. What the batch did not change is not read; of a record that it changed, what was before, unless it is new. Rejects with
   * `unavailable`.
   */
  async trigger(
    workspace: string,
    { facts, chosenFrom }: Evaluation,
    settings: RuleSettings,
    entry: WorklistEntry,
  ): Promise<Trigger | undefined> {
    const since = this.#events[0]?.position;
    if (
      since === undefined ||
      facts.billed !== undefined ||
      facts.answers !== undefined ||
      settings.requiredDocuments.size > 0
    )
      return undefined;
    if (this.#changesRules(workspace)) return undefined;
    if (chosenFrom.some(({ record }) => record && facts.sameVisitBilled?.has(record.id))) return undefined;
    const before = new Map<string, BilledRecord>();
    const steps = new Map<string, Step[]>();
    for (const { record, position } of chosenFrom) {
      if (record === undefined) return undefined;
      const key = recordKey(record.kind, record.id);
      if (position < since) {
        before.set(key, record);
        continue;
      }
      const versions = await this.#versionsOf(workspace, record);
      if (versions?.steps.at(-1)?.version !== record.version) return undefined;
      if (versions.before) before.set(key, versions.before);
      steps.set(key, versions.steps);
    }
    const taken = [...steps.values()].flat().sort((a, b) => a.event.position - b.event.position);
    const named = [...before.values(), ...taken.flatMap(({ record }) => record ?? [])].flatMap(namedBy);
    if (named.some((one) => !before.has(recordKey(...one)) && !steps.has(recordKey(...one))))
      return undefined;
    const { id } = facts.encounter;
    // What was so before the batch has an earlier cause.
    if (isAsBefore(before, id, settings, entry)) return undefined;
    return triggerAmong(taken, new ReadinessReplay(id, [...before.values()], settings), entry);
  }

  #changesRules(workspace: string): boolean {
    return this.#events.some(
      ({ type, stream }) =>
        type === CODE_SET_LOADED || (isRuleSetting(type) && workspaceOfStream(stream) === workspace),
    );
  }

  #versionsOf(workspace: string, { kind, id }: BilledRecord): Promise<BatchVersions | undefined> {
    const stream = recordStream(workspace, kind, id);
    const known = this.#versions.get(stream) ?? this.#read(stream, kind, id);
    this.#versions.set(stream, known);
    return known;
  }

  /** Resolves with undefined where that cannot be read. */
  async #read(stream: string, kind: string, id: string): Promise<BatchVersions | undefined> {
    this.#byStream ??= Map.groupBy(this.#events, (event) => event.stream);
    const events = this.#byStream.get(stream) ?? [];
    const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(kind, state, event);
    try {
      const version = events[0]?.revision ?? 0;
      let state = version > 0 ? await foldStream(this.#eventLog, stream, evolve, { version }) : undefined;
      const before = state && billedRecord(state, id);
      const steps: Step[] = [];
      for (const event of events) {
        state = evolve(state, event);
        const { id: eventId, position, metadata } = event;
        steps.push({
          event: { id: eventId, position, metadata, recordedAt: state.updatedAt },
          ...{ kind, id, version: state.version, record: billedRecord(state, id) },
        });
      }
      return { before, steps };
    } catch (error) {
      asUnreadable(error);
      return undefined;
    }
  }
}
