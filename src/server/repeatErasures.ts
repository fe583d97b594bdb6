import type { OnProgress } from '../modules/backup/backupLog.ts';
import { ConcernedStreams } from '../modules/backup/ConcernedStreams.ts';
import { eraseAgain, type UnknownErasure } from '../modules/erasure/eraseAgain.ts';
import { type LaterErasures, readNotices } from '../modules/erasure/readNotices.ts';
import type { RemovalPorts } from '../modules/erasure/removeErased.ts';
import { readLog } from '../modules/integrity/readLog.ts';
import { publicKeysOf } from '../modules/integrity/SigningKey.ts';
import { WebhookDirectory } from '../modules/webhooks/WebhookDirectory.ts';
import { loadConfig } from '../platform/config.ts';
import { ServiceError } from '../platform/errors.ts';
import type { EventLog } from '../storage/eventLog.ts';
import { openHeadTarget, openOwnStateStore } from './openBackend.ts';
import { terminal } from './terminal.ts';
import { loadSigningKey, withDocumentStore, withEventLog } from './withStores.ts';

/** Erasures after the end of a backup that were carried out again. */
export interface RepeatedErasures extends Pick<LaterErasures, 'asOf' | 'problems'> {
  /** Number of records and documents erased. */
  erased: number;
  /** Whether their bytes stay in the log's files until its server scavenges. */
  scavenges: boolean;
}

/**
 * Carries out all erasures reported by notices in a place that the event log lacks, because it was reset to an earlier state by
 * other means than `restore`. Rejects with `conflict` when a notice is missing or invalid, unless that is allowed, and as
 * `eraseAgain` does.
 */
export async function repeatErasures(
  place: string,
  { allowMissing, onProgress }: { allowMissing: boolean; onProgress?: OnProgress },
): Promise<RepeatedErasures> {
  const target = await openHeadTarget(place);
  return withEventLog((eventLog) =>
    withDocumentStore(async (documentStore) => {
      const publicKeys = publicKeysOf(await loadSigningKey(eventLog));
      // All of them: the log may since have grown over the places of what it lost.
      const none = {
        log: await eventLog.identity(),
        last_position: 0,
        created_at: new Date(0).toISOString(),
      };
      const later = requireWhole(await readNotices(target, none, publicKeys), allowMissing);
      const concerned = new ConcernedStreams(later.erasures);
      const until = await eventLog.head();
      let events = 0;
      for await (const batch of readLog(eventLog, { after: 0, until })) {
        for (const places of [batch.events, batch.erased, batch.unreadable]) concerned.take(places);
        events += batch.events.length;
        onProgress?.(batch.position, until, events);
      }
      const stateStore = await openOwnStateStore(loadConfig(terminal().env), eventLog);
      try {
        const stores = { eventLog, documentStore, stateStore };
        const erased = await eraseUnknown(stores, concerned.unknown());
        return { ...later, erased, scavenges: eventLog.scavenger !== undefined };
      } finally {
        await stateStore.close();
      }
    }),
  );
}

/** Carries out erasures that a log lacks; returns the number of streams erased. Rejects as `eraseAgain` does. */
export async function eraseUnknown(
  stores: Omit<RemovalPorts, 'webhooksOf'> & { eventLog: EventLog },
  erasures: readonly UnknownErasure[],
): Promise<number> {
  const webhooks = await WebhookDirectory.open(stores.eventLog);
  try {
    return await eraseAgain({ ...stores, webhooksOf: (id) => webhooks.idsOf(id) }, erasures);
  } finally {
    webhooks.close();
  }
}

/** Returns `later`; throws `conflict` when a notice is missing or invalid, unless that is allowed. */
export function requireWhole(later: LaterErasures, allowMissing: boolean): LaterErasures {
  if (later.problems.length === 0 || allowMissing) return later;
  const advice = 'With --allow-missing-erasures it is done all the same.';
  throw new ServiceError('conflict', [...later.problems, advice].join('\n'));
}
