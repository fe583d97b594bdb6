import type { Position } from '../../domain/events/event.ts';
import { erasureStep } from '../../domain/events/recordErased.ts';
import { uploadedBy } from '../../domain/records/document.ts';
import type { BackupTarget } from '../../storage/backupTarget.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { inLogOrder } from '../../storage/inLogOrder.ts';
import type { CopiedPlace } from '../../storage/logCopy.ts';
import { readLog } from '../integrity/readLog.ts';
import { Trees, toCopied } from './copiedPlace.ts';
import { MAX_LINES, readLines, writeLineFiles } from './lineFiles.ts';
import type { Manifest, Segment, Tombstone } from './manifest.ts';
import type { WantedObject } from './WantedObject.ts';

/** A segment with fewer bytes is extended with the next events, so that frequent backups do not accumulate many small files. */
const SMALL_BYTES = 1024 * 1024;

/** What a backup contains of the log. */
export interface LoggedPart extends Pick<Manifest, 'segments' | 'trees' | 'last_position' | 'events'> {
  /** Number of events written. */
  added: number;
  /** Tombstones among them. */
  tombstones: Tombstone[];
  /** The documents whose upload they record. */
  uploads: WantedObject[];
  problems: string[];
}

/** Called with the position of a backup in the log, where it will end, and the number of events written. */
export type OnProgress = (position: Position, until: Position, events: number) => void;

/** Writes the events after those already in the backup, up to a position. Rejects with `unavailable`. */
export async function backupLog(
  eventLog: EventLog,
  target: BackupTarget,
  previous: Manifest | undefined,
  until: Position,
  onProgress: OnProgress = () => undefined,
): Promise<LoggedPart> {
  const segments = [...(previous?.segments ?? [])];
  const after = previous?.last_position ?? 0;
  const trees = new Trees(previous?.trees);
  const part: LoggedPart = {
    ...{ segments, trees: previous?.trees ?? [], last_position: until, events: previous?.events ?? 0 },
    ...{ added: 0, tombstones: [], uploads: [], problems: [] },
  };
  if (until === after) return part;
  const places = async function* (): AsyncGenerator<CopiedPlace> {
    const last = segments.at(-1);
    if (last && last.bytes < SMALL_BYTES && last.events < MAX_LINES) {
      segments.pop();
      yield* await readLines<CopiedPlace>(target, last);
    }
    for await (const batch of readLog(eventLog, { after, until })) {
      for (const place of inLogOrder(batch)) {
        take(part, trees, place);
        yield toCopied(place);
      }
      onProgress(batch.position, until, part.added);
    }
  };
  await writeLineFiles(target, segmentName, places(), (file, written) => {
    segments.push(segmentOf(file, written));
  });
  return { ...part, trees: trees.toManifest(), events: part.events + part.added };
}

/** Records what an event means for the rest of the backup. */
function take(part: LoggedPart, trees: Trees, place: Parameters<typeof toCopied>[0]): void {
  part.added += 1;
  if (!('data' in place) && !('leaf' in place)) {
    part.problems.push(
      `The event at position ${place.position} cannot be read. Run chartledger verify to find out why.`,
    );
    return;
  }
  trees.take(place);
  if (!('data' in place)) return;
  const { stream, revision, position } = place;
  if (erasureStep(place)) part.tombstones.push({ stream, revision });
  if (place.type !== 'DocumentUploaded') return;
  const { object_id: id, size, sha256 } = uploadedBy(place);
  part.uploads.push({ id, size, sha256, document: { stream, revision, position } });
}

export function segmentName({ position }: CopiedPlace): string {
  return `log/${String(position).padStart(16, '0')}`;
}

export function segmentOf(file: Omit<Segment, 'first' | 'last' | 'events'>, written: CopiedPlace[]): Segment {
  const [first, last] = [written[0], written.at(-1)] as [CopiedPlace, CopiedPlace];
  return { ...file, first: first.position, last: last.position, events: written.length };
}
