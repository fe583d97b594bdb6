import type { ErasedEvent } from '../../../events/event.ts';
import type { Appended, ExpectedRevision, WriterLink } from '../../../ports/eventLog.ts';

/** One append on its way to the writer thread; JSON is already text. */
export interface AppendRequest {
  stream: string;
  eventId: string;
  type: string;
  data: string;
  metadata: string;
  expected: ExpectedRevision;
}

/** A removal on its way to the writer thread, as `EventLog.erase` takes it. */
export interface EraseRequest {
  stream: string;
  before: number;
  erased: readonly ErasedEvent[];
}

/** What became of one append: its place, or the stream's actual last revision (-1: no stream) on a conflict. */
export type AppendOutcome = Appended | { conflict: number };

/**
 * To the writer thread, on a link: a batch to append; events to remove; or to prove that the file takes so many bytes.
 */
export type WriterRequest = AppendRequest[] | { erase: EraseRequest } | { prove: number };

/**
 * From the writer thread: the outcomes of one batch, in order (of a removal or proof, none); or the batch failed whole, with SQLite's result code and what is the matter with the file, where that is known; or a removal is
 * none that can be made.
 */
export type WriterMessage =
  | { kind: 'committed'; outcomes: AppendOutcome[] }
  | { kind: 'failed'; code: string | undefined; problem: string | undefined }
  | { kind: 'refused'; reason: string };

/** To the writer thread, from the one that started it: one more link to serve; or to end. */
export type WriterThreadMessage = { link: WriterLink } | 'close';
