import type { ErasedEvent } from '../../../domain/events/event.ts';
import type { Appended, ExpectedRevision, WriterLink } from '../../eventLog.ts';

/** An append request to the writer thread; JSON is already text. */
export interface AppendRequest {
  stream: string;
  eventId: string;
  type: string;
  data: string;
  metadata: string;
  expected: ExpectedRevision;
  isRepeat?: true;
}

/** A removal request to the writer thread, as `EventLog.erase` takes it. */
export interface EraseRequest {
  stream: string;
  before: number;
  erased: readonly ErasedEvent[];
}

/** The outcome of one append: its place, or the stream's actual last revision (-1: no stream) on a conflict. */
export type AppendOutcome = Appended | { conflict: number };

/** To the writer thread, over a link: a batch to append; events to remove; or to prove that the file accepts this many bytes. */
export type WriterRequest = AppendRequest[] | { erase: EraseRequest } | { prove: number };

/**
 * From the writer thread: the outcomes of one batch, in order (none for a removal or proof); or the whole batch failed, with
 * SQLite's result code and what is wrong with the file, if known; or a removal is not possible.
 */
export type WriterMessage =
  | { kind: 'committed'; outcomes: AppendOutcome[] }
  | { kind: 'failed'; code: string | undefined; problem: string | undefined }
  | { kind: 'refused'; reason: string };

/** To the writer thread, from the thread that started it: another link to serve; or to end. */
export type WriterThreadMessage = { link: WriterLink } | 'close';
