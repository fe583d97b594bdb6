import type { Logger } from 'pino';
import { models } from '../../../projections/index.ts';
import { type Config, ConfigError } from '../../platform/config.ts';
import { describeError, ServiceError } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { beginIfOther } from './beginIfOther.ts';
import { type LogMismatch, mismatchTexts } from './logMismatch.ts';

interface Stores {
  eventLog: EventLog;
  readModels: ReadModels;
  documentStore: DocumentStore;
}

/**
 * Lets a service start only where its documents and read models belong to its event log, or to none yet: next to
 * another one, that log was lost, or a setting is wrong, and what is written to the wrong one is lost as well. Then
 * the log's identity is recorded with the documents, and read models that do not belong to it are emptied before this
 * service appends: new events at the places of lost ones would hide that they are lost. Rejects with `ConfigError`,
 * unless the setting `ALLOW_OTHER_EVENT_LOG` accepts it, and as `isEarlierFormat` throws. A store that cannot be reached is
 * not checked.
 */
export async function requireStoresOfLog(
  { eventLog, readModels, documentStore }: Stores,
  config: Config,
  logger: Logger,
): Promise<void> {
  const identity = await eventLog.identity();
  const ifThere = <Result>(work: () => Promise<Result>) =>
    work().catch((error) => notLookedAt(error, logger));
  const ofDocuments = await ifThere(() => documentStore.log());
  const ofReadModels = await ifThere(() => Promise.all(models.map((model) => readModels.builtFrom(model))));
  const isOther = (log: string | undefined) => log !== undefined && log !== identity;
  const others = [
    ...(isOther(ofDocuments) ? [`the documents in ${placeOf(config.documentsUrl)}`] : []),
    ...(ofReadModels?.some(isOther) ? [`the read models in ${placeOf(config.readModelUrl)}`] : []),
  ];
  if (others.length > 0 && !config.allowOtherEventLog) {
    throw new ConfigError(
      `The event log ${placeOf(config.eventLogUrl)} is not the one that ${others.join(' and ')} belong to. ` +
        'Restore that log, or correct EVENT_LOG_URL. To continue with this log, and abandon what only the other one ' +
        'contains, start once with ALLOW_OTHER_EVENT_LOG=true: the read models are then rebuilt.',
    );
  }
  await ifThere(() => documentStore.setLog(identity));
  const onMismatch = (model: string, mismatch: LogMismatch) =>
    logger.error({ model, mismatch }, mismatchTexts[mismatch]);
  const ports = { eventLog, readModels, onMismatch };
  await ifThere(() => Promise.all(models.map((model) => beginIfOther(model, ports))));
}

function notLookedAt(error: unknown, logger: Logger): undefined {
  if (!(error instanceof ServiceError && error.code === 'unavailable')) throw error;
  logger.warn(
    { error: describeError(error) },
    'a store is unavailable at startup; which log it belongs to is not known yet',
  );
}

/** Returns a store's URL without user and password. */
function placeOf(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//');
}
