import { bodyOf } from '../../../projections/projection.ts';
import { recordsModel } from '../../../projections/records.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep } from '../../domain/events/recordErased.ts';
import { encounterBeside, kindOfStream } from '../../domain/events/streamNames.ts';
import { unlessUnavailable } from '../../platform/unlessUnavailable.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { untilReached } from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { type ErasurePorts, eraseDocument, eraseReadiness } from './finishErasure.ts';
import { heldBefore } from './heldBefore.ts';

/**
 * Returns the events up to a position that may have been appended after the erasure of their encounter: all except those whose
 * encounter exists in the read model of records. Costs one read of that model; when it lags, all given events are returned.
 */
export async function possiblyLate(
  { readModels }: QueryPorts,
  events: readonly RecordedEvent[],
  position: Position,
): Promise<ReadonlySet<RecordedEvent>> {
  if (events.length === 0) return new Set();
  const streams = new Set(events.map(({ stream }) => encounterBeside(stream)));
  const there = await unlessUnavailable(thereAt(readModels, [...streams], position));
  return new Set(events.filter(({ stream }) => !there?.has(encounterBeside(stream))));
}

async function thereAt(
  readModels: ReadModels,
  streams: string[],
  position: Position,
): Promise<ReadonlySet<string>> {
  await untilReached(readModels, recordsModel, position, 'list');
  const rows = await readModels.load(recordsModel, streams);
  return new Set(
    rows.flatMap((row) => {
      const body = bodyOf(row);
      return body && !body.erased ? row.id : [];
    }),
  );
}

/**
 * Erases what was accepted before the erasure of its encounter but appended after it (a document, or the encounter's billing),
 * and returns whether the event is such a case. Can be repeated. Rejects with `unavailable`, and with `unreadable`.
 */
export async function eraseLate(ports: ErasurePorts, event: RecordedEvent): Promise<boolean> {
  const { stream, position } = event;
  const encounter = encounterBeside(stream);
  const [last] = await ports.eventLog.readStream(encounter, { direction: 'backwards', limit: 1 });
  if (last === undefined || erasureStep(last) !== 'done' || position < last.position) return false;
  // Its encounter is not erased: a legal hold came first.
  if (await heldBefore(ports.eventLog, last, async () => [])) return false;
  await (kindOfStream(stream) === 'document'
    ? eraseDocument(ports, last, stream)
    : eraseReadiness(ports, last));
  return true;
}
