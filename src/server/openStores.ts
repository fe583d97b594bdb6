import { KeyDirectory } from '../modules/auth/KeyDirectory.ts';
import { KnownKeys } from '../modules/KnownKeys.ts';
import { ownReadModels } from '../modules/projections/ownReadModels.ts';
import { WebhookDirectory } from '../modules/webhooks/WebhookDirectory.ts';
import type { Config } from '../platform/config.ts';
import { isMeasured } from '../platform/threads/reportMeasurements.ts';
import type { SharedFlag } from '../platform/threads/SharedFlag.ts';
import { isTracing } from '../platform/traced.ts';
import type { Clock } from '../storage/clock.ts';
import type { CountsMemory } from '../storage/engines/memory/SharedCounts.ts';
import type { EventLog } from '../storage/eventLog.ts';
import { lastingKeys } from './keyFiles.ts';
import { measuredAppends } from './measuredAppends.ts';
import { measuredLimiters } from './measuredLimiters.ts';
import type { OpenStores } from './openApiPorts.ts';
import {
  type EventLogOptions,
  openDocumentStore,
  openEventLog,
  openOwnStateStore,
  openRateLimiters,
  openReadModels,
} from './openBackend.ts';

/** What must be checked before anything is read. */
export type StoresToCheck = Pick<OpenStores, 'eventLog' | 'readModels' | 'documentStore' | 'knownKeys'>;

export interface Opening {
  /** Returns a step's result; rejects when the start is to be aborted. */
  step<Result>(work: Promise<Result>): Promise<Result>;
  /** Collects the functions that close each store, to be called in reverse order. */
  stops: (() => unknown)[];
  eventLog: EventLogOptions;
  /** Raised when something waits for read models. */
  awaited: SharedFlag;
  /** Set if several threads count requests together. */
  counts: CountsMemory | undefined;
  clock: Clock;
  check?(stores: StoresToCheck): Promise<void>;
}

/** Opens what a thread needs to answer requests. */
export async function openStores(
  config: Config,
  { step, stops, eventLog: eventLogOptions, awaited, counts, clock, check }: Opening,
): Promise<OpenStores> {
  const open = async <Store extends { close(): unknown }>(opening: Promise<Store>): Promise<Store> => {
    const store = await step(opening);
    stops.push(() => store.close());
    return store;
  };
  const opened: EventLog = await open(openEventLog(config.eventLogUrl, eventLogOptions));
  const eventLog = isMeasured() || isTracing() ? measuredAppends(opened) : opened;
  const allReadModels = await open(openReadModels(config.readModelUrl));
  const readModels = ownReadModels(allReadModels, eventLog, () => awaited.raise());
  const stateStore = await open(openOwnStateStore(config, eventLog));
  const documentStore = await open(openDocumentStore(config.documentsUrl));
  const knownKeys = new KnownKeys(eventLog, lastingKeys(config));
  if (check) await step(check({ eventLog, readModels, documentStore, knownKeys }));
  const limiters = measuredLimiters(await open(openRateLimiters(config.stateUrl, counts)));
  const directory = await open(KeyDirectory.open(eventLog));
  const webhookDirectory = await open(WebhookDirectory.open(eventLog));
  return {
    eventLog,
    readModels,
    stateStore,
    documentStore,
    limiters,
    directory,
    webhookDirectory,
    knownKeys,
    clock,
  };
}
