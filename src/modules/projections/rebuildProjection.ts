import { setTimeout as sleep } from 'node:timers/promises';
import { modelName, type Projection, rebuildOf } from '../../../projections/projection.ts';
import { ServiceError } from '../../platform/errors.ts';
import { type ProjectorPorts, project } from './project.ts';

const TRIES = 10;
const RETRY_MS = 1_000;

/** The result of a rebuild. */
export interface Rebuilt {
  model: string;
  rowsBefore: number;
  rows: number;
  /** Events that the projection could not process, at most 1,000. */
  parked: number;
}

/**
 * Rebuilds a projection's read model alongside the present one, which continues to serve; then compares the two and
 * replaces the present one with the new one. Rejects with `conflict`, and changes nothing, when the new one has fewer
 * rows, unless `acceptFewer`: rows are never removed, so that indicates a fault.
 */
export async function rebuildProjection(
  projection: Projection,
  ports: ProjectorPorts,
  signal: AbortSignal,
  acceptFewer: boolean,
): Promise<Rebuilt> {
  const { eventLog, readModels } = ports;
  const model = modelName(projection);
  const beside = rebuildOf(model);
  await readModels.begin(beside, await eventLog.identity());
  // Counted first: the present read model keeps growing, and the new one will also have what it has by now.
  const rowsBefore = await readModels.count(model);
  await catchUp(projection, ports, signal, beside);
  signal.throwIfAborted();
  const rows = await readModels.count(beside);
  if (rows < rowsBefore && !acceptFewer) {
    await readModels.drop(beside);
    throw new ServiceError(
      'conflict',
      `${model} has ${rowsBefore} rows, but built anew only ${rows}; it was left as it is.`,
    );
  }
  await readModels.replace(model, beside);
  const parked = await readModels.parked(model);
  return { model, rowsBefore, rows, parked: parked.length };
}

/**
 * Folds the whole log into `model`. A log may take hours, so it waits for a store that cannot be reached for a while
 * in between; it rejects only when several attempts in a row made no progress.
 */
async function catchUp(
  projection: Projection,
  ports: ProjectorPorts,
  signal: AbortSignal,
  model: string,
): Promise<void> {
  let reached = 0;
  for (let failures = 0; ; ) {
    try {
      return await project([{ projection, model }], ports, signal, ({ caughtUp }) => caughtUp);
    } catch (error) {
      if (!(error instanceof ServiceError && error.code === 'unavailable')) throw error;
      const position = await ports.readModels.checkpoint(model).catch(() => reached);
      failures = position > reached ? 1 : failures + 1;
      if (failures === TRIES) throw error;
      reached = position;
      await sleep(RETRY_MS, undefined, { signal });
    }
  }
}
