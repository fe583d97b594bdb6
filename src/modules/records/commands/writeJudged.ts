import type { NewEvent } from '../../../domain/events/event.ts';
import type { UnchangedChoice } from '../../../domain/events/unchangedChoice.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/catalog.ts';
import type { RecordState } from '../../../domain/records/fold.ts';
import { type Judgement, judgeChange } from '../../../domain/records/judgeChange.ts';
import { appendBehind } from '../../../storage/appendBehind.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';
import { currentState } from '../queries/readRecord.ts';
import { requireRecord, type WriteCondition } from './writeCondition.ts';

export interface JudgedPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

/** A write that is judged by the record's current state. */
export interface JudgedWrite {
  entry: CatalogEntry;
  stream: string;
  condition: WriteCondition;
  unchanged: UnchangedChoice;
  /** Writes nothing, and returns what the result would be. */
  dryRun: boolean;
  /**
   * Returns the fields to write, given the record's current state, undefined when there is none; called again when someone else
   * wrote in the meantime.
   */
  fieldsFor(state: RecordState | undefined): Promise<RecordFields> | RecordFields;
  newEvent(sent: RecordFields): NewEvent;
}

/** The actual or, for a dry run, hypothetical result. */
export interface JudgedResult extends Judgement {
  /** The record's version after the write. */
  version: number;
  sent: RecordFields;
  /** Whether no event was appended because no field would have changed. */
  isSkipped: boolean;
}

/**
 * Judges a write against the fold of the record's stream up to its last event, and appends it directly after that event; judges
 * it again when another event came in between. Rejects as `EventLog.append` and `fieldsFor` do, and with `unreadable` when the
 * stream contains an event that cannot be read.
 */
export async function writeJudged(ports: JudgedPorts, write: JudgedWrite): Promise<JudgedResult> {
  const { entry, stream, condition, unchanged, dryRun } = write;
  for (;;) {
    const last = await currentState(ports, entry.kind, stream);
    const state = last?.erased ? undefined : last;
    const sent = await write.fieldsFor(state);
    requireRecord(condition, state);
    const judgement = judgeChange(state, sent);
    const isSkipped = judgement.outcome === 'unchanged' && unchanged === 'skip';
    const before = last?.version ?? 0;
    const result = { ...judgement, version: isSkipped ? before : before + 1, sent, isSkipped };
    if (isSkipped || dryRun) return result;
    if (await appendBehind(ports.eventLog, stream, write.newEvent(sent), before - 1)) return result;
  }
}
