import type { Logger } from 'pino';
import { models } from '../../../projections/index.ts';
import { type Config, ConfigError } from '../../platform/config.ts';
import { describeError, unavailable } from '../../platform/errors.ts';
import { isUnavailable } from '../../platform/retry.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { type LogMismatch, logMismatch, mismatchTexts, resetIfStale } from './checkpoints.ts';

/** How long a read model is assumed to belong still to the log. */
const TRUSTED_MS = 1_000;

/** The methods that return rows, or count them. */
const READS = ['load', 'page', 'heads', 'countPage', 'changes', 'search', 'scan', 'count'] as const;

const projected: ReadonlySet<string> = new Set(models);

/** What was found out about a read model, and when, on the monotonic clock. */
interface Found {
  asked: Promise<void>;
  at: number;
}

/**
 * Returns the read models for a process that queries them. `onAwaited` is called when the position of a projection's
 * read model is queried: the caller waits for it to advance, unless `isAwaited` is false.
 *
 * They return nothing of a projection's read model that was not built from this log, or that the log no longer has:
 * that is `unavailable` until the projector has begun to rebuild it.
 */
export function ownReadModels(readModels: ReadModels, eventLog: EventLog, onAwaited: () => void): ReadModels {
  const found = new Map<string, Found>();
  const check = async (model: string, before: Promise<void> | undefined) => {
    const mismatch = await logMismatch({ eventLog, readModels }, model).catch((error) => {
      // While that cannot be determined, what was known stands.
      if (before === undefined) throw error;
      return before;
    });
    if (mismatch) throw unavailable('read model', new Error(mismatch));
  };
  const trusted = (model: string): Promise<void> | undefined => {
    if (!projected.has(model)) return undefined;
    const last = found.get(model);
    const now = performance.now();
    if (last && now - last.at < TRUSTED_MS) return last.asked;
    const asked = check(model, last?.asked);
    asked.catch(() => undefined);
    found.set(model, { asked, at: now });
    return asked;
  };
  return new Proxy(readModels, {
    get(target, name) {
      const own = Reflect.get(target, name);
      if (typeof own !== 'function') return own;
      if (name === 'checkpoint') {
        return (model: string, { isAwaited = true } = {}) => {
          if (isAwaited && projected.has(model)) onAwaited();
          return own.call(target, model);
        };
      }
      if (!READS.some((read) => read === name)) return own.bind(target);
      return async (model: string, ...rest: unknown[]) => {
        await trusted(model);
        return own.call(target, model, ...rest);
      };
    },
  });
}

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
    work().catch((error) => unavailableForCheck(error, logger));
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
  await ifThere(() => Promise.all(models.map((model) => resetIfStale(model, ports))));
}

function unavailableForCheck(error: unknown, logger: Logger): undefined {
  if (!isUnavailable(error)) throw error;
  logger.warn(
    { error: describeError(error) },
    'a store is unavailable at startup; which log it belongs to is not known yet',
  );
}

/** Returns a store's URL without user and password. */
function placeOf(url: string): string {
  return url.replace(/\/\/[^@/]*@/, '//');
}
