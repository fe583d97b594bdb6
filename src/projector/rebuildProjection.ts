import { setTimeout as sleep } from 'node:timers/promises';
import { modelName, type Projection } from '../../projections/projection.ts';
import { ServiceError } from '../errors.ts';
import { type ProjectorPorts, project } from './project.ts';

const TRIES = 10;
const RETRY_MS = 1_000;

/** What a rebuild found. */
export interface Rebuilt {
  model: string;
  rowsBefore: number;
  rows: number;
  /** Events that the projection could not take, at most 1,000. */
  parked: number;
}

/**
 * Builds a projection's read model anew beside the present one, which goes on serving; then compares the two and puts
 * the new one in its place. Rejects with `conflict`, and changes nothing, when the new one has fewer rows, unless
 * `acceptFewer`: rows are never taken out, so that speaks of a fault.
 */
export async function rebuildProjection(
  projection: Projection,
  ports: ProjectorPorts,
  signal: AbortSignal,
  acceptFewer: boolean,
): Promise<Rebuilt> {
  const { eventLog, readModels } = ports;
  const model = modelName(projection);
  const beside = `${model}_rebuild`;
  await readModels.begin(beside, await eventLog.identity());
  // Counted first: the present read model goes on growing, and what it has by now the new one will have too.
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
 * Folds the whole log into `model`. A log may take hours, so a store that is away for a while in between is waited for;
 * it rejects only when several tries in a row brought nothing.
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
