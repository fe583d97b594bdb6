import { modelName, type Projection } from '../../../projections/projection.ts';
import { readinessModel } from '../../../projections/readinessModel.ts';
import { markOutdated } from './outdated.ts';
import { canBeTakenUp } from './parkReason.ts';
import type { ProjectorPorts } from './project.ts';
import { rebuildProjection } from './rebuildProjection.ts';

/**
 * Rebuilds the read models that an earlier version of the service kept when it met events that only this one can
 * read; they continue to serve meanwhile. The worklist of readiness, which is based on them, is then built anew. Rejects when a store
 * cannot be reached.
 */
export async function takeUpParked(
  projections: readonly Projection[],
  ports: ProjectorPorts,
  signal: AbortSignal,
): Promise<void> {
  const { readModels } = ports;
  for (const projection of projections) {
    const parked = await readModels.parked(modelName(projection));
    const takenUp = parked.find(({ reason }) => canBeTakenUp(reason));
    if (takenUp === undefined) continue;
    // Noted beforehand, as nothing else would tell of it after an interruption.
    await readModels.park(readinessModel, takenUp);
    await rebuildProjection(projection, ports, signal, true);
  }
  const lacked = await readModels.parked(readinessModel);
  if (lacked.length > 0) await markOutdated(readModels, readinessModel);
}
