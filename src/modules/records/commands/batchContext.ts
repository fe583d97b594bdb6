import type { Caller } from '../../../domain/events/newEvent.ts';
import type { AnswerLine, BatchLine } from './batchLine.ts';
import type { WriteOptions, WritePorts } from './upsertRecord.ts';
import type { WorkSlices } from './WorkSlices.ts';

/** The environment in which a batch is carried out. */
export interface BatchContext {
  ports: WritePorts;
  caller: Caller;
  options: Pick<WriteOptions, 'dryRun' | 'unchanged'>;
  /** Returns the event id for a line: a UUID, the same in each try of the batch. */
  eventId(line: BatchLine): string;
  /** Whether an earlier try of the batch may have appended events. */
  isRepeat: boolean;
  /** Throws `permission_denied` when the caller may not write records of a kind. */
  authorize(kind: string): void;
  answer: AnswerLine;
  slices: WorkSlices;
}
