import { validate as isUuid } from 'uuid';
import { canonicalJson } from '../../../domain/events/canonicalJson.ts';
import { MAX_EVENT_BYTES } from '../../../domain/events/event.ts';
import { mayContain } from '../../../domain/events/streamNames.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { Append, Appended } from '../../eventLog.ts';
import { eventTooLarge, idNotUuid, otherWorkspace, versionConflict } from '../../eventLogRefusals.ts';
import type { AppendOutcome, AppendRequest } from './appendProtocol.ts';

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
