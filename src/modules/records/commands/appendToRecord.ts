import type { NewEvent, RecordedEvent } from '../../../domain/events/event.ts';
import { erasureStep } from '../../../domain/events/recordErased.ts';
import { ServiceError } from '../../../platform/errors.ts';
import type { Appended, EventLog } from '../../../storage/eventLog.ts';
import type { RecordExistence } from './RecordExistence.ts';
import { conditionNotMet, type WriteCondition } from './writeCondition.ts';

interface RecordPorts {
  eventLog: EventLog;
  existence: RecordExistence;
}

/** The revision of a record's event, and whether the record is new: it never existed before, or was erased. */
interface AppendedToRecord {
  revision: number;
  isNew: boolean;
}

/**
 * Appends to a record's stream under a condition on the record; an erased record counts as missing. Takes no read when the record
 * is known to exist, or was never erased. Rejects as `EventLog.append` does.
 */
export async function appendToRecord(
  ports: RecordPorts,
  stream: string,
  event: NewEvent,
  condition: WriteCondition,
): Promise<AppendedToRecord> {
  const { eventLog, existence } = ports;
  if (condition === 'none') return createRecord(eventLog, stream, event);
  const isKnown = existence.isKnown(stream);
  if (condition !== 'any' && !isKnown && (await existence.missing([stream])).size > 0) {
    throw conditionNotMet('record');
  }
  const expected = condition === 'exists' ? 'any' : condition;
  const appended = await eventLog.append(stream, event, expected);
  const mayBeErased = !isKnown && condition === 'any';
  return { revision: appended.revision, isNew: await isNewRecord(eventLog, stream, appended, mayBeErased) };
}

/** Whether an appended event begins a record: as its first event or, where `mayBeErased`, as the first after its erasure. */
export async function isNewRecord(
  eventLog: EventLog,
  stream: string,
  { revision, erased }: Appended,
  mayBeErased: boolean,
): Promise<boolean> {
  if (revision === 0 || !mayBeErased || !erased) return revision === 0;
  const [before] = await eventLog.readStream(stream, {
    direction: 'backwards',
    from: revision - 1,
    limit: 1,
  });
  return isErasure(before);
}

/** Appends the first event of a record, or the first after its erasure. */
async function createRecord(eventLog: EventLog, stream: string, event: NewEvent): Promise<AppendedToRecord> {
  for (let expected: number | 'none' = 'none'; ; ) {
    try {
      const { revision } = await eventLog.append(stream, event, expected);
      return { revision, isNew: true };
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'version_conflict')) throw error;
      const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
      if (last === undefined || !isErasure(last)) throw error;
      expected = last.revision;
    }
  }
}

function isErasure(event: RecordedEvent | undefined): boolean {
  return event !== undefined && erasureStep(event) === 'done';
}
