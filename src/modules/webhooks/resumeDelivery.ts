import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { readNote } from './deliveryNote.ts';
import type { DeliveryPosition, Failed, StoredWaiting } from './deliveryTable.ts';
import { earlierDelivery } from './earlierDelivery.ts';
import type { Webhook } from './webhook.ts';

export interface ResumePorts {
  eventLog: Pick<EventLog, 'identity' | 'hasPosition' | 'readStream'>;
  /** Where earlier versions kept the state. */
  readModels: Pick<ReadModels, 'load' | 'page'>;
  /** Called when a delivery resumes from what the log says, because its state was lost or belongs to another log. */
  onStateLost(webhookId: string): void;
}

/** Where a delivery resumes. */
export interface Resumed {
  at: DeliveryPosition;
  /** Whether it resumes as stored, with everything stored beside it. */
  isStored: boolean;
  waiting: StoredWaiting[];
  failed: Failed[];
}

/**
 * Resumes as stored, unless that belongs to another log, or to a later state of this log than it has: a restore.
 * Otherwise resumes from the log's own note; without one, as an earlier version of the service left it, or from the
 * webhook's start. Rejects with `unavailable`.
 */
export async function resumeDelivery(
  ports: ResumePorts,
  webhook: Webhook,
  stored: DeliveryPosition | undefined,
): Promise<Resumed> {
  const { eventLog, readModels, onStateLost } = ports;
  const log = await eventLog.identity();
  const noted = await readNote(eventLog, webhook.id);
  const revision = noted?.revision ?? -1;
  if (stored && stored.log === log && (stored.noted ?? -1) <= revision) {
    const places = await Promise.all(
      [stored.position, stored.followed].map((at) => eventLog.hasPosition(at)),
    );
    if (places.every(Boolean)) return { at: stored, isStored: true, waiting: [], failed: [] };
  }
  if (stored || noted) onStateLost(webhook.id);
  const earlier = stored || noted ? undefined : await earlierDelivery(readModels, webhook);
  const position = earlier?.position ?? noted?.note.position ?? webhook.startAfter;
  const handled = earlier?.handled ?? noted?.note.handled ?? -1;
  const at: DeliveryPosition = { log, position, followed: position, handled, blocked: 0, pending: 0 };
  if (noted) at.noted = noted.revision;
  return { at, isStored: false, waiting: earlier?.waiting ?? [], failed: earlier?.failed ?? [] };
}
