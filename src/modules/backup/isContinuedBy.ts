import type { BackupTarget } from '../../storage/backupTarget.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { inLogOrder } from '../../storage/inLogOrder.ts';
import type { CopiedPlace } from '../../storage/logCopy.ts';
import { readLog } from '../integrity/readLog.ts';
import { readLines } from './lineFiles.ts';
import type { Manifest } from './manifest.ts';

/**
 * Whether the log still has the last event of a backup in its place. A log that was reset to an earlier state may have grown over
 * that place since. Rejects with `unavailable`, and with `conflict` when the file with that event is damaged.
 */
export async function isContinuedBy(
  eventLog: EventLog,
  target: BackupTarget,
  { segments, last_position }: Manifest,
): Promise<boolean> {
  if (!(await eventLog.hasPosition(last_position))) return false;
  const segment = segments.at(-1);
  if (segment === undefined) return true;
  const places = await readLines<CopiedPlace>(target, segment);
  const after = places.at(-2)?.position ?? segments.at(-2)?.last ?? 0;
  if (!(await eventLog.hasPosition(after))) return false;
  let last: Pick<CopiedPlace, 'position' | 'id'> | undefined;
  for await (const batch of readLog(eventLog, { after, until: segment.last }))
    last = inLogOrder(batch).at(-1) ?? last;
  return last?.position === segment.last && last.id === places.at(-1)?.id;
}
