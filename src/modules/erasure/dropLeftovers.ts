import { setTimeout as sleep } from 'node:timers/promises';
import { models } from '../../../projections/index.ts';
import { rebuildOf } from '../../../projections/projection.ts';
import { unavailable } from '../../platform/errors.ts';
import type { ReadModels } from '../../storage/readModels.ts';

/** A rebuild that does not advance for this long was cut off. */
const CUT_OFF_MS = 10_000;

/**
 * Drops the read models that nothing maintains any more: those of earlier versions of the service, and what rebuilds have left that
 * were cut off. Rejects with `unavailable` while a rebuild is under way, as it may hold what is erased.
 */
export async function dropLeftovers(readModels: ReadModels, cutOffMs = CUT_OFF_MS): Promise<void> {
  for (const earlier of models.flatMap(earlierVersions)) await readModels.drop(earlier);
  const rebuilds: string[] = [];
  for (const rebuild of models.map(rebuildOf)) {
    if ((await readModels.builtFrom(rebuild)) !== undefined) rebuilds.push(rebuild);
  }
  if (rebuilds.length === 0) return;
  const positions = () => Promise.all(rebuilds.map((rebuild) => readModels.checkpoint(rebuild)));
  const before = await positions();
  await sleep(cutOffMs);
  const after = await positions();
  if (after.some((position, index) => position !== before[index])) throw unavailable('read model store');
  for (const rebuild of rebuilds) await readModels.drop(rebuild);
}

function earlierVersions(model: string): string[] {
  const [, name, version] = /^(.+_v)(\d+)$/.exec(model) ?? [];
  return Array.from({ length: Number(version) - 1 }, (_, index) => `${name}${index + 1}`);
}
