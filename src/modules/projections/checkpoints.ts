import { setTimeout as sleep } from 'node:timers/promises';
import type { Position } from '../../domain/events/event.ts';
import { unavailable } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type ParkedEvent, type ReadModels, setBack } from '../../storage/readModels.ts';

/**
 * Why a read model cannot be continued: it was built from `another_log`; or its content is `beyond_the_log`, which
 * has since been restored to an earlier state; or it is of an `unknown_log`, as an earlier version of the service
 * left it.
 */
export type LogMismatch = 'another_log' | 'beyond_the_log' | 'unknown_log';

/** The text of a log line for each, besides the model. */
export const mismatchTexts: Record<LogMismatch, string> = {
  another_log: 'a read model was built from another event log; it is rebuilt from this one',
  beyond_the_log:
    'a read model holds events that the event log no longer has, as after a restore; it is rebuilt',
  unknown_log: 'a read model does not say from which event log it was built; it is rebuilt',
};

/**
 * Resolves with why a read model does not belong to the log; undefined when it does, or holds nothing. Rejects with
 * `unavailable`.
 */
export async function logMismatch(
  { eventLog, readModels }: { eventLog: EventLog; readModels: ReadModels },
  model: string,
): Promise<LogMismatch | undefined> {
  const position = await readModels.checkpoint(model);
  const builtFrom = await readModels.builtFrom(model);
  if (builtFrom === undefined) return position === 0 ? undefined : 'unknown_log';
  if (builtFrom !== (await eventLog.identity())) return 'another_log';
  return (await eventLog.hasPosition(position)) ? undefined : 'beyond_the_log';
}

export interface SameLogPorts {
  eventLog: EventLog;
  readModels: ReadModels;
  /** Called with a read model that is rebuilt from the start because it does not belong to this log. */
  onMismatch(model: string, mismatch: LogMismatch): void;
}

/**
 * Empties a read model, to be built from this log, when its content does not belong to it. Rejects with
 * `unavailable`.
 */
export async function resetIfStale(model: string, ports: SameLogPorts): Promise<void> {
  const { eventLog, readModels, onMismatch } = ports;
  const mismatch = await logMismatch(ports, model);
  if (mismatch === undefined) return;
  onMismatch(model, mismatch);
  await readModels.begin(model, await eventLog.identity());
}

/** How often to check whether a read model is outdated. */
const OUTDATED_CHECK_MS = 1_000;

/** Noted with the parked events of a read model, at a position that no event has. */
const OUTDATED: ParkedEvent = { position: -1, eventId: '', reason: 'Outdated' };

type Parking = Pick<ReadModels, 'park' | 'parked'>;

/**
 * Notes that a read model has to be built anew, as what it is based on has changed without an event; its writer then begins it anew.
 * Rejects with `unavailable`.
 */
export function requestRebuild(readModels: Parking, model: string): Promise<void> {
  return readModels.park(model, OUTDATED);
}

/** Whether that is noted. Rejects with `unavailable`. */
export async function isOutdated(readModels: Parking, model: string): Promise<boolean> {
  return (await readModels.parked(model)).some(isRebuildRequest);
}

/** Whether it is such a note, among the parked events of a read model. */
export function isRebuildRequest({ reason }: ParkedEvent): boolean {
  return reason === OUTDATED.reason;
}

/** Rejects as `ReadModels.write` does once that is noted, and with `unavailable`; otherwise resolves at the signal. */
export async function waitForRebuildRequest(
  readModels: Parking,
  model: string,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    if (await isOutdated(readModels, model)) throw setBack();
    await sleep(OUTDATED_CHECK_MS, undefined, { signal }).catch(() => undefined);
  }
}

/**
 * Resolves with the position after which to continue a read model: its checkpoint; or the beginning, with the read
 * model emptied, when its content does not belong to this log, or is outdated. Rejects with `unavailable`.
 */
export async function loadCheckpoint(model: string, ports: SameLogPorts): Promise<Position> {
  const { eventLog, readModels } = ports;
  await resetIfStale(model, ports);
  if ((await readModels.builtFrom(model)) === undefined || (await isOutdated(readModels, model))) {
    await readModels.begin(model, await eventLog.identity());
  }
  return readModels.checkpoint(model);
}

/** How often to check whether it is still the same log. */
const LOG_CHECK_MS = 1_000;

/**
 * Rejects with `unavailable` when the log at its address has become another one; otherwise resolves at the signal.
 */
export async function runWhileLogUnchanged(eventLog: EventLog, signal: AbortSignal): Promise<void> {
  const identity = await eventLog.identity();
  while (!signal.aborted) {
    await sleep(LOG_CHECK_MS, undefined, { signal }).catch(() => undefined);
    if (!signal.aborted && (await eventLog.identity()) !== identity) throw unavailable('event log');
  }
}
