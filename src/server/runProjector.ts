import { setTimeout as sleep } from 'node:timers/promises';
import { models, projections } from '../../projections/index.ts';
import { completeErasures } from '../modules/erasure/erase.ts';
import { holdsDocument, holdsMessage } from '../modules/erasure/holdState.ts';
import { advanceScavenges } from '../modules/erasure/scavenges.ts';
import { MessageStore } from '../modules/integrations/messages/store.ts';
import type { LogMismatch } from '../modules/projections/checkpoints.ts';
import { ParkedTally, retryParked } from '../modules/projections/parking.ts';
import { ProjectedBatches } from '../modules/projections/projectedBatches.ts';
import { type ProjectorMessage, projectAll } from '../modules/projections/projector.ts';
import { updateWorklist } from '../modules/readiness/worklistUpdater.ts';
import { purgeDocuments } from '../modules/records/commands/purgeDocuments.ts';
import { WebhookDirectory } from '../modules/webhooks/webhook.ts';
import type { Config } from '../platform/config.ts';
import { describeError } from '../platform/errors.ts';
import type { SharedFlag } from '../platform/threads/semaphore.ts';
import { leaseOwner, runAsLeader } from '../storage/leases.ts';
import { systemClock } from '../storage/rateLimiters.ts';
import { isSetBack } from '../storage/readModels.ts';
import {
  openDocumentStore,
  openEventLog,
  openLeases,
  openReadModels,
  openStateStoreHere,
} from './openStorage.ts';

/**
 * The lease of the one instance that projects. Versions of the service with different read models project side by side, as each
 * serves its own while an upgrade is under way; read models that they share are written by both.
 */
export const PROJECTOR_LEASE = `projector ${models.join(' ')}`;

const RETRY_MS = 250;
/** How long events may gather while nobody waits for read models: the cost of a batch is then shared by more of them. */
const GATHER_MS = 100;
/** The same after a second without any. */
const IDLE_GATHER_MS = 250;
const IDLE_AFTER_MS = 1_000;
const SCAVENGE_EVERY_MS = 1_000;
const PURGE_EVERY_MS = 3_600_000;
/** An instance of an earlier version that was suspended may still park events after this one has acquired the lease. */
const RETRY_PARKED_EVERY_MS = 60_000;

/**
 * Runs every projection, retries what was parked, and purges documents until the signal, while this instance holds the lease.
 * Waits for unavailable stores. `awaited` is raised when something waits for read models.
 */
export async function runProjector(
  config: Config,
  awaited: SharedFlag,
  signal: AbortSignal,
  report: (message: ProjectorMessage) => void,
): Promise<void> {
  const eventLog = await openEventLog(config.eventLogUrl);
  const readModels = await openReadModels(config.readModelUrl);
  // The writer of a read model learns from its checkpoint that it was reset: nobody else may read that through the same object.
  const worklistModels = await openReadModels(config.readModelUrl);
  const erasureModels = await openReadModels(config.readModelUrl);
  const stateStore = await openStateStoreHere(config.stateUrl);
  const leases = await openLeases(config.stateUrl);
  const documentStore = await openDocumentStore(config.documentsUrl);
  const webhooks = await WebhookDirectory.open(eventLog);
  const batches = new ProjectedBatches();
  const parked = new ParkedTally(report);
  const ports = {
    eventLog,
    readModels,
    onParked: parked.add.bind(parked),
    onMismatch: (model: string, mismatch: LogMismatch) => report({ kind: 'mismatch', model, mismatch }),
  };
  // If all requests are served elsewhere, nobody could report that one of them is waiting.
  const gather = () => {
    const untilAwaited = awaited.watch();
    if (!config.roles.includes('api')) return undefined;
    return (until: AbortSignal, idleMs: number) =>
      untilAwaited(idleMs > IDLE_AFTER_MS ? IDLE_GATHER_MS : GATHER_MS, until);
  };
  const erasurePorts = {
    eventLog,
    readModels: erasureModels,
    stateStore,
    documentStore,
    webhooksOf: webhooks.idsOf.bind(webhooks),
  };
  const isHeld = (stream: string) => holdsDocument(eventLog, stream);
  const messages = new MessageStore({ stateStore, documentStore });
  const purgePorts = { eventLog, stateStore, documentStore, clock: systemClock, isHeld };
  await runAsLeader(leases, PROJECTOR_LEASE, leaseOwner(config), signal, async (leading) => {
    const repeat = (task: string, pauseMs: number, work: () => Promise<void>) =>
      repeatUntil(leading, pauseMs, work, (error) =>
        report({ kind: 'retrying', task, error: describeError(error) }),
      );
    await Promise.all([
      repeat('project', RETRY_MS, () =>
        projectAll(projections, { ...ports, batches, gather: gather() }, leading),
      ),
      repeat('keep the worklist', RETRY_MS, () =>
        updateWorklist({ ...ports, batches, readModels: worklistModels, gather: gather() }, leading),
      ),
      repeat('retry parked events', RETRY_PARKED_EVERY_MS, () => retryParked(projections, ports, leading)),
      repeat('erase', RETRY_MS, () =>
        completeErasures(erasurePorts, leading, (error) =>
          report({ kind: 'retrying', task: 'erase', error: describeError(error) }),
        ),
      ),
      repeat('scavenge', SCAVENGE_EVERY_MS, () => advanceScavenges(erasurePorts)),
      repeat('remove expired messages', PURGE_EVERY_MS, () =>
        messages.removeExpired(systemClock.now(), (message) => holdsMessage(erasurePorts, message), leading),
      ),
      repeat('purge', PURGE_EVERY_MS, () =>
        purgeDocuments(purgePorts, config.documentRetentionDays, leading),
      ),
    ]);
  });
  parked.close();
  webhooks.close();
  const stores = [
    ...[eventLog, readModels, worklistModels, erasureModels],
    ...[stateStore, leases, documentStore],
  ];
  await Promise.all(stores.map((store) => store.close()));
}

async function repeatUntil(
  signal: AbortSignal,
  pauseMs: number,
  work: () => Promise<void>,
  onError: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    let pause = pauseMs;
    try {
      await work();
    } catch (error) {
      // As after every rebuild, it continues from the checkpoint that exists now.
      if (!isSetBack(error)) onError(error);
      pause = RETRY_MS;
    }
    await sleep(pause, undefined, { signal }).catch(() => undefined);
  }
}
