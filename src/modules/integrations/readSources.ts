import type { EventLog } from '../../storage/eventLog.ts';
import type { Source } from './source.ts';
import { readSourceState } from './sourceState.ts';

/**
 * Resolves with the configured sources of a workspace, in the order in which they were first configured, as of every
 * change acknowledged before the call. Rejects with `unavailable` and `unreadable`.
 */
export async function readSources(eventLog: EventLog, workspace: string): Promise<Source[]> {
  const { sources } = await readSourceState(eventLog, workspace);
  return [...sources.values()];
}
