import type { NewEvent } from '../events/event.ts';
import type { UnchangedChoice } from '../events/unchangedChoice.ts';
import { appendBehind } from '../ports/appendBehind.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { ReadModels } from '../ports/readModels.ts';
import { currentState } from '../reads/readRecord.ts';
import type { CatalogEntry, RecordFields } from '../records/catalog.ts';
import type { RecordState } from '../records/fold.ts';
import { type Judgement, judgeChange } from '../records/judgeChange.ts';
import { requireRecord, type WriteCondition } from './writeCondition.ts';

export interface JudgedPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

/** A write that is judged by what the record is. */
export interface JudgedWrite {
  entry: CatalogEntry;
  stream: string;
  condition: WriteCondition;
  unchanged: UnchangedChoice;
  /** Nothing is written, and it is told what would become of it. */
  dryRun: boolean;
  /** The fields to write to the record as it is, undefined where there is none; asked again when somebody wrote meanwhile. */
  fieldsFor(state: RecordState | undefined): Promise<RecordFields> | RecordFields;
  newEvent(sent: RecordFields): NewEvent;
}

/** What became of it, or would. */
export interface JudgedResult extends Judgement {
  /** The record's, behind the write. */
  version: number;
  sent: RecordFields;
  /** No event was appended, as none of the fields would have changed. */
  isSkipped: boolean;
}

/**
 * Judges a write by the fold of the record's stream up to its last event, and appends it behind that very event; where
 * another one came in between it is judged again. Rejects as `EventLog.append` and `fieldsFor` do, and with `unreadable`
 * where the stream holds an event that cannot be read.
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
