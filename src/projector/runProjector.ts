import { setTimeout as sleep } from 'node:timers/promises';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import { openDocumentStore, openEventLog, openReadModels } from '../backends/openBackend.ts';
import { purgeDocuments } from '../commands/purgeDocuments.ts';
import type { Config } from '../config.ts';
import { describeError } from '../errors.ts';
import { systemClock } from '../ports/clock.ts';
import type { ProjectorMessage } from './messages.ts';
import { project } from './project.ts';

const RETRY_MS = 250;
const PURGE_EVERY_MS = 3_600_000;

/** Runs every projection and the purging of documents until the signal; a store that is away is waited for. */
export async function runProjector(
  config: Config,
  signal: AbortSignal,
  report: (message: ProjectorMessage) => void,
): Promise<void> {
  const [eventLog, readModels, documentStore] = await Promise.all([
    openEventLog(config.eventLogUrl),
    openReadModels(config.readModelUrl),
    openDocumentStore(config.documentsUrl),
  ]);
  const ports = {
    eventLog,
    readModels,
    onParked: (model: string, event: { id: string; position: number }, error: unknown) =>
      report({
        kind: 'parked',
        model,
        position: event.position,
        eventId: event.id,
        error: describeError(error),
      }),
  };
  const repeat = async (task: string, pauseMs: number, work: () => Promise<void>) => {
    while (!signal.aborted) {
      let pause = pauseMs;
      try {
        await work();
      } catch (error) {
        report({ kind: 'retrying', task, error: describeError(error) });
        pause = RETRY_MS;
      }
      await sleep(pause, undefined, { signal }).catch(() => undefined);
    }
  };
  const purgePorts = { eventLog, readModels, documentStore, clock: systemClock };
  await Promise.all([
    ...projections.map((projection) =>
      repeat(modelName(projection), RETRY_MS, () => project(projection, ports, signal)),
    ),
    repeat('purge', PURGE_EVERY_MS, () => purgeDocuments(purgePorts, config.documentRetentionDays, signal)),
  ]);
  await Promise.all([eventLog.close(), readModels.close(), documentStore.close()]);
}
