import { modelName, type Projection } from '../../projections/projection.ts';
import { canBeTakenUp } from './parkReason.ts';
import type { ProjectorPorts } from './project.ts';
import { rebuildProjection } from './rebuildProjection.ts';

/**
 * Rebuilds the read models that an earlier version of the service kept when it met events that only this one can
 * read; they continue to serve meanwhile. Rejects when a store cannot be reached.
 */
export async function takeUpParked(
  projections: readonly Projection[],
  ports: ProjectorPorts,
  signal: AbortSignal,
): Promise<void> {
  for (const projection of projections) {
    const parked = await ports.readModels.parked(modelName(projection));
    if (parked.some(({ reason }) => canBeTakenUp(reason)))
      await rebuildProjection(projection, ports, signal, true);
  }
}
