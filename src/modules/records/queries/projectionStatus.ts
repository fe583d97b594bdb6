import { models } from '../../../../projections/index.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';

/** A read model's progress through the log. */
export interface ProjectionStatus {
  model: string;
  position: number;
  /** 0 when the read model holds the whole log; otherwise the distance between two positions, which have gaps. */
  behind: number;
  /** Events that the projection could not process, at most 1,000. */
  parked: number;
}

/** Resolves with every read model's status. Rejects with `unavailable` when a store cannot be reached. */
export async function projectionStatus(
  eventLog: EventLog,
  readModels: ReadModels,
): Promise<ProjectionStatus[]> {
  const head = await eventLog.head();
  return Promise.all(
    models.map(async (model) => {
      const [position, parked] = await Promise.all([readModels.checkpoint(model), readModels.parked(model)]);
      return { model, position, behind: Math.max(0, head - position), parked: parked.length };
    }),
  );
}
