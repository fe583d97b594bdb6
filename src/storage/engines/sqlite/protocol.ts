import { validate as isUuid } from 'uuid';
import { canonicalJson } from '../../../domain/events/canonicalJson.ts';
import { type ErasedEvent, MAX_EVENT_BYTES } from '../../../domain/events/event.ts';
import { mayContain } from '../../../domain/events/streams.ts';
import { ServiceError } from '../../../platform/errors.ts';
import {
  type Append,
  type Appended,
  type ExpectedRevision,
  eventTooLarge,
  idNotUuid,
  otherWorkspace,
  versionConflict,
  type WriterLink,
} from '../../eventLog.ts';

/** Converts an append for the writer thread. Throws `validation_failed` and `payload_too_large`, as `EventLog.append` does. */
export function appendRequest({ stream, event, expected }: Append): AppendRequest {
  const { id: eventId, type, isRepeat } = event;
  if (!isUuid(eventId)) throw idNotUuid();
  if (!mayContain(stream, event.metadata.workspace)) throw otherWorkspace();
  const data = canonicalJson(event.data);
  const metadata = canonicalJson(event.metadata);
  if (Buffer.byteLength(data) + Buffer.byteLength(metadata) > MAX_EVENT_BYTES) throw eventTooLarge();
  return { stream, eventId, type, data, metadata, expected, ...(isRepeat && { isRepeat }) };
}

/** As `EventLog.appendEach`; `commit` appends in one transaction, and rejects with `unavailable` when that failed. */
export async function appendGroup(
  appends: readonly Append[],
  commit: (requests: AppendRequest[]) => Promise<AppendOutcome[]>,
): Promise<(Appended | ServiceError)[]> {
  const requests = appends.map((append) => attempt(() => appendRequest(append)));
  const sound = requests.filter((request): request is AppendRequest => !(request instanceof ServiceError));
  try {
    const outcomes = sound.length === 0 ? [] : await commit(sound);
    let next = 0;
    return requests.map((request) =>
      request instanceof ServiceError ? request : resultOf(outcomes[next++] as AppendOutcome),
    );
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return requests.map((request) => (request instanceof ServiceError ? request : error));
  }
}

function attempt<Result>(work: () => Result): Result | ServiceError {
  try {
    return work();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
}

function resultOf(outcome: AppendOutcome): Appended | ServiceError {
  return 'conflict' in outcome ? versionConflict(outcome.conflict + 1) : outcome;
}

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
