import { createHash } from 'node:crypto';
import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { Position } from '../domain/events/event.ts';
import type { Caller } from '../domain/events/newEvent.ts';
import { KeyDirectory } from '../modules/auth/keyDirectory.ts';
import { type EventView, feedEventTypes } from '../modules/eventStream/cloudEvents.ts';
import { Consumers, type Contact } from '../modules/eventStream/consumers.ts';
import { Keyring } from '../modules/keyring.ts';
import { type WriteWarehouseOptions, writeWarehouse } from '../modules/warehouse/write.ts';
import type { Config } from '../platform/config.ts';
import { describeError, ServiceError } from '../platform/errors.ts';
import { measurements } from '../platform/metrics/metrics.ts';
import { pause } from '../platform/retry.ts';
import type { WarehouseSetting } from '../platform/settings.ts';
import { superviseWorker } from '../platform/threads/workers.ts';
import { workerUrl } from '../platform/threads/workerUrl.ts';
import type { EventLog } from '../storage/eventLog.ts';
import { systemClock } from '../storage/rateLimiters.ts';
import { withLeases } from './exclusiveLock.ts';
import { managedKeys } from './keys.ts';
import { isFolder, openEventLog, openOwnStateStore, openWarehouse } from './openStorage.ts';
import { requireKeyFolder } from './stores.ts';

interface KeepWarehouseOptions extends Omit<WriteWarehouseOptions, 'view' | 'pseudonyms'> {
  /** A folder, or the URL of a PostgreSQL database. */
  place: string;
  view: EventView;
  /** The name under which it is listed as a consumer of the events. */
  consumer?: string | undefined;
}

interface WarehousePorts {
  eventLog: EventLog;
  directory: KeyDirectory;
}

const NOTE_EVERY_MS = 60_000;

/** Writes the warehouse at a place, as `writeWarehouse` does; resolves with false, with nothing done, while another process does. */
export function keepWarehouse(
  config: Config,
  { eventLog, directory }: WarehousePorts,
  caller: Caller,
  { place, view, consumer, onReached, ...options }: KeepWarehouseOptions,
): Promise<boolean> {
  const schema = view === 'full' ? caller.workspace : `${caller.workspace}_${view}`;
  // A URL may have a password; a folder has one warehouse, whatever its workspace.
  const name = createHash('sha256')
    .update(isFolder(place) ? place : `${place} ${schema}`)
    .digest('hex');
  return withLeases(config.stateUrl, [`warehouse ${name}`], async (hold) => {
    if (!(await hold())) return false;
    if (view !== 'full') requireKeyFolder(config.deidentificationKey, config.dataDir);
    const keys = new Keyring(eventLog, managedKeys(config));
    const pseudonyms = view === 'full' ? undefined : () => keys.loadEpoch('deidentification');
    const warehouse = await openWarehouse(place, schema);
    if (warehouse === undefined) return false;
    try {
      const noted =
        consumer === undefined
          ? undefined
          : await noteSink(
              config,
              { eventLog, directory },
              { workspace: caller.workspace, name: consumer, view },
            );
      try {
        await writeWarehouse({ eventLog, warehouse }, caller, {
          ...{ view, pseudonyms },
          ...options,
          onReached(position, changes) {
            noted?.reached(position);
            onReached?.(position, changes);
          },
        });
        return true;
      } finally {
        await noted?.close();
      }
    } finally {
      await warehouse.close();
    }
  });
}

/** Lists a sink as a consumer for as long as it runs, and the position that it reached, with one write a minute. */
async function noteSink(
  config: Config,
  { eventLog, directory }: WarehousePorts,
  named: Pick<Contact, 'workspace' | 'name' | 'view'>,
): Promise<{ reached(position: Position): void; close(): Promise<void> }> {
  const stateStore = await openOwnStateStore(config, eventLog);
  const consumers = new Consumers({ stateStore, clock: systemClock });
  const isActive = (workspace: string) => directory.known.workspaces.get(workspace)?.state === 'active';
  const eventTypes = feedEventTypes.map(({ eventType }) => eventType);
  const contact: Contact = { ...named, type: 'sink', key: null, eventTypes, unchanged: 'send' };
  try {
    const sink = await consumers.connect(contact, false);
    const note = () => {
      sink.reached();
      return consumers.flush(isActive).catch(() => undefined);
    };
    const timer = setInterval(note, NOTE_EVERY_MS);
    return {
      reached: (position) => sink.reached(position),
      async close() {
        clearInterval(timer);
        await note();
        await stateStore.close();
      },
    };
  } catch (error) {
    await stateStore.close();
    throw error;
  }
}

const RETRY_MS = 30_000;

/** What the thread reports: the workspace of a warehouse that could not be written, and why. */
export interface WarehouseMessage {
  kind: 'retrying';
  workspace: string;
  problem: string | undefined;
  error: Record<string, unknown>;
}

/**
 * Keeps all warehouses of the settings up to date until the signal; what fails, or is written by another process, is tried again when
 * it would next be written, after half a minute at most.
 */
export async function keepWarehouses(
  config: Config,
  signal: AbortSignal,
  report: (message: WarehouseMessage) => void,
): Promise<void> {
  const eventLog = await openEventLog(config.eventLogUrl);
  const directory = await KeyDirectory.open(eventLog);
  const follow = { everyMs: config.warehousesEverySeconds * 1_000, signal };
  const failing = measurements.gauge('chartledger.warehouse.failing', {});
  const keep = async ({ workspace, ...warehouse }: WarehouseSetting) => {
    const { place, view } = warehouse;
    const consumer = `${isFolder(place) ? 'parquet' : 'postgres'}${view === 'full' ? '' : `-${view}`}`;
    const principal = { type: 'service', id: 'warehouse' } as const;
    let isFailing = false;
    const note = (fails: boolean) => {
      failing.add(Number(fails) - Number(isFailing));
      isFailing = fails;
    };
    const options = { ...warehouse, consumer, follow, onReached: () => note(false) };
    while (!signal.aborted) {
      const caller = { workspace, principal, requestId: uuidv7() };
      try {
        if (!(await keepWarehouse(config, { eventLog, directory }, caller, options))) note(false);
      } catch (error) {
        const problem = error instanceof ServiceError ? (error.problem ?? error.message) : undefined;
        report({ kind: 'retrying', workspace, problem, error: describeError(error) });
        note(true);
      }
      await pause(Math.min(RETRY_MS, follow.everyMs), signal);
    }
  };
  await Promise.all(config.warehouses.map(keep));
  directory.close();
  await eventLog.close();
}

/** Starts the writing of warehouses in its own thread, so that it never delays a request; the returned function ends it. */
export function startWarehouses(config: Config, logger: Logger): () => Promise<void> {
  return superviseWorker<WarehouseMessage>(
    workerUrl('warehouseWorker', import.meta.url),
    { config },
    {
      onMessage: ({ kind: _, ...fields }) =>
        logger.warn(fields, 'a warehouse cannot be written; it is retried'),
      onError: (error) => logger.error({ error: describeError(error) }, 'the writing of warehouses failed'),
    },
  );
}
