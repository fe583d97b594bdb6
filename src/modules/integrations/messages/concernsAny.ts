import type { StateStore } from '../../../storage/stateStore.ts';
import { type Message, messageLinksTable } from './message.ts';
import { linkId, streamOf } from './messageRows.ts';

const CHUNK = 200;

/**
 * Resolves with whether a message concerns any of these records, also among those whose results are not kept. Rejects
 * with `unavailable`.
 */
export async function concernsAny(
  stateStore: StateStore,
  { id, workspace }: Message,
  records: readonly { kind: string; id: string }[],
): Promise<boolean> {
  const links = records.map((one) => linkId(streamOf(workspace, one), id));
  for (let at = 0; at < links.length; at += CHUNK) {
    const found = await stateStore.load(messageLinksTable, links.slice(at, at + CHUNK));
    if (found.length > 0) return true;
  }
  return false;
}
