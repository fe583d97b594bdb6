import { dataAs, type ErasedEvent, type Position } from '../../domain/events/event.ts';
import { type ErasedVersion, erasureStep, type RecordErased } from '../../domain/events/recordErased.ts';
import { asUnreadable } from '../../platform/errors.ts';
import type { BackupTarget } from '../../storage/backupTarget.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { CopiedPlace } from '../../storage/logCopy.ts';
import { segmentName, segmentOf } from './backupLog.ts';
import { readLines, writeLineFiles } from './lineFiles.ts';
import type { Segment, Tombstone } from './manifest.ts';

interface Removed {
  segments: Segment[];
  /** Tombstones whose events the log still contains. */
  erasing: Tombstone[];
  /** Number of events removed from the backup. */
  events: number;
}

/**
 * Removes what the log has since removed according to these tombstones from the segments that contain it: each of these is
 * rewritten. Rejects with `unavailable`, and with `conflict` when such a segment is damaged.
 */
export async function removeErased(
  eventLog: EventLog,
  target: BackupTarget,
  segments: Segment[],
  tombstones: readonly Tombstone[],
): Promise<Removed> {
  const { places, erasing } = await removedPlaces(eventLog, tombstones);
  const positions = [...places.keys()];
  const removed: Removed = { segments: [], erasing, events: 0 };
  for (const segment of segments) {
    const isConcerned = positions.some((at) => at >= segment.first && at <= segment.last);
    removed.segments.push(isConcerned ? await rewrite(target, segment, places, removed) : segment);
  }
  return removed;
}

async function rewrite(
  target: BackupTarget,
  segment: Segment,
  places: ReadonlyMap<Position, ErasedEvent>,
  removed: Removed,
): Promise<Segment> {
  let count = 0;
  const lines = (await readLines<CopiedPlace>(target, segment)).map((line) => {
    const erased = places.get(line.position);
    if (erased === undefined || 'leaf' in line) return line;
    count += 1;
    return erased;
  });
  if (count === 0) return segment;
  removed.events += count;
  let rewritten = segment;
  await writeLineFiles(target, segmentName, lines, (file, written) => {
    rewritten = segmentOf(file, written);
  });
  return rewritten;
}

/** Returns what is listed by tombstones and no longer in the log, by position. */
async function removedPlaces(eventLog: EventLog, tombstones: readonly Tombstone[]) {
  const places = new Map<Position, ErasedEvent>();
  const erasing: Tombstone[] = [];
  for (const tombstone of tombstones) {
    const removed = await removedBy(eventLog, tombstone).catch((error) => void asUnreadable(error));
    if (removed === undefined) erasing.push(tombstone);
    else for (const place of removed) places.set(place.position, place);
  }
  return { places, erasing };
}

/** Returns what a tombstone lists; undefined while the log still contains it. Rejects with `unreadable`, too. */
async function removedBy(
  eventLog: EventLog,
  { stream, revision }: Tombstone,
): Promise<ErasedEvent[] | undefined> {
  const [event] = await eventLog.readStream(stream, { from: revision, limit: 1 });
  // A tombstone that is itself gone is listed by a later one.
  if (event?.revision !== revision || erasureStep(event) === undefined) return [];
  const { erased } = dataAs<RecordErased>(event.data);
  const [first] = erased;
  if (first && (await isThere(eventLog, stream, first))) return undefined;
  return erased.map(({ version, position, event_id: id, leaf }) => ({
    ...{ position, stream, revision: version - 1, id, leaf },
  }));
}

async function isThere(eventLog: EventLog, stream: string, { version }: ErasedVersion): Promise<boolean> {
  const [found] = await eventLog.readStream(stream, { from: version - 1, limit: 1 });
  return found?.revision === version - 1;
}
