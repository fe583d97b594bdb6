import { v7 as uuidv7 } from 'uuid';
import type { Position } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { DisclosedRange } from '../../domain/events/payloads.ts';
import { ServiceError } from '../../platform/errors.ts';
import { pause } from '../../platform/retry.ts';
import type { EventBatch, EventLog } from '../../storage/eventLog.ts';
import { followToEnd } from '../../storage/eventLog.ts';
import type { Warehouse, WarehouseOrigin, WarehouseState } from '../../storage/warehouse.ts';
import { recordAccess } from '../audit/recordAccess.ts';
import type { EventView } from '../eventStream/cloudEvents.ts';
import type { PseudonymKey } from '../eventStream/deidentification.ts';
import { WarehouseRows } from './rows.ts';
import { schemaDigest, tablesOfView } from './tables.ts';

/** Changes are committed at the latest after so many. */
const CHANGES_AT_ONCE = 100_000;

interface WriteWarehousePorts {
  eventLog: EventLog;
  warehouse: Warehouse;
}

export interface WriteWarehouseOptions {
  /** Default: the full one. */
  view?: EventView | undefined;
  /** Loads the key of the hashes, again before each commit; undefined for the full view. */
  pseudonyms?: (() => Promise<PseudonymKey>) | undefined;
  /** Keeps following the log, with so many milliseconds between commits, until the signal. Default: up to the end that the log has. */
  follow?: { everyMs: number; signal: AbortSignal } | undefined;
  /**
   * Called when the warehouse is complete up to a position: after each commit, with the number of changes to its tables, and with 0
   * where there were none.
   */
  onReached?: ((position: Position, changes: number) => void) | undefined;
}

/**
 * Brings a warehouse up to date with the events of the caller's workspace. Each commit is in the audit trail before anything is
 * written. Rejects with `unavailable`, with `conflict` for a warehouse that was made from something else, and with `unreadable` at an
 * event that only a newer version of the service can read.
 */
export async function writeWarehouse(
  { eventLog, warehouse }: WriteWarehousePorts,
  caller: Caller,
  { view = 'full', pseudonyms: loadPseudonyms, follow, onReached }: WriteWarehouseOptions = {},
): Promise<void> {
  const pseudonyms = await loadPseudonyms?.();
  const tables = tablesOfView(view);
  const origin: WarehouseOrigin = {
    log: await eventLog.identity(),
    workspace: caller.workspace,
    view: pseudonyms ? `${view} ${pseudonyms.epoch}` : view,
    schema: schemaDigest(tables),
  };
  const begun = await requireOrigin(eventLog, warehouse, origin);
  let position = begun?.position ?? 0;
  let isNew = begun === undefined;
  const rows = new WarehouseRows(eventLog, caller.workspace, view, pseudonyms);
  const filter = { streamPrefixes: [`${caller.workspace}.`] };
  const options = { after: position, filter, erased: true };
  const batches: AsyncIterable<EventBatch> = follow
    ? eventLog.follow({
        ...options,
        signal: follow.signal,
        gather: (signal) => pause(follow.everyMs, signal),
      })
    : followToEnd(eventLog, options);
  for await (const batch of batches) {
    await rows.add(batch);
    const isDue = rows.events >= CHANGES_AT_ONCE || (batch.caughtUp && (rows.events > 0 || isNew));
    if (!isDue) {
      if (rows.events === 0) onReached?.(batch.position, 0);
      continue;
    }
    if ((await loadPseudonyms?.())?.epoch !== pseudonyms?.epoch) throw otherOrigin(differences.view);
    const query = { format: warehouse.format, view };
    const shown: DisclosedRange = {
      ranges: [{ from: position + 1, to: batch.position }],
      ...(view !== 'full' && { view }),
    };
    await recordAccess(eventLog, { ...caller, requestId: uuidv7() }, { action: 'export', query, shown });
    const changes = rows.events;
    position = batch.position;
    isNew = false;
    await warehouse.commit(tables, rows.take(), { ...origin, position });
    onReached?.(position, changes);
  }
}

const differences: Record<keyof WarehouseOrigin, string> = {
  log: 'was made from another event log',
  workspace: 'is of another workspace',
  view: 'is of another view, or the key of its hashes was replaced since',
  schema: 'was made by a version of the service with other fields',
};

async function requireOrigin(
  eventLog: EventLog,
  warehouse: Warehouse,
  origin: WarehouseOrigin,
): Promise<WarehouseState | undefined> {
  const state = await warehouse.state();
  if (state === undefined) return undefined;
  const names = Object.keys(differences) as (keyof WarehouseOrigin)[];
  const differing = names.find((name) => state[name] !== origin[name]);
  if (differing !== undefined) throw otherOrigin(differences[differing]);
  if (state.position !== 0 && !(await eventLog.hasPosition(state.position)))
    throw otherOrigin('is ahead of the event log, which was restored to an earlier state');
  return state;
}

function otherOrigin(difference: string): ServiceError {
  return new ServiceError('conflict', `The warehouse ${difference}. Empty its place, or name another one.`);
}
