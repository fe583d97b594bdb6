import type { Caller } from '../../events/newEvent.ts';
import type { WriteOptions, WritePorts } from '../upsertRecord.ts';
import type { AnswerLine, BatchLine } from './batchLine.ts';
import type { WorkSlices } from './WorkSlices.ts';

/** What a batch is carried out with. */
export interface BatchContext {
  ports: WritePorts;
  caller: Caller;
  options: Pick<WriteOptions, 'dryRun' | 'unchanged'>;
  /** The id of the event of a line: a UUID, the same in each try of the batch. */
  eventId(line: BatchLine): string;
  /** Whether an earlier try of the batch may have appended events. */
  isRepeat: boolean;
  /** Throws `permission_denied` where the caller may not write records of a kind. */
  authorize(kind: string): void;
  answer: AnswerLine;
  slices: WorkSlices;
}
