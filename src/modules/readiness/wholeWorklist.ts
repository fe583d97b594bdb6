import type { ReadModels } from '../../storage/readModels.ts';
import { type WorklistSelection, walkWorklist } from './walkWorklist.ts';
import type { WorklistEntry } from './worklistEntry.ts';

const AT_ONCE = 200;

/**
 * Yields all encounters of a selection, in parts; at least one part, which may be empty. An encounter that changes
 * meanwhile may come twice, or not at all. Rejects with `unavailable`.
 */
export async function* wholeWorklist(
  readModels: ReadModels,
  workspace: string,
  selection: WorklistSelection,
): AsyncGenerator<WorklistEntry[]> {
  let part: WorklistEntry[] = [];
  for await (const { entry, isWanted } of walkWorklist(readModels, workspace, selection)) {
    if (!isWanted) continue;
    if (part.length === AT_ONCE) {
      yield part;
      part = [];
    }
    part.push(entry);
  }
  yield part;
}
