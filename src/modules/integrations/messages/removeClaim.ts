import type { StateStore } from '../../../storage/stateStore.ts';
import { type MessageControl, messageClaimsTable } from './message.ts';

/**
 * Removes the claim of a message, unless another one with the same content has it by now. Rejects with `unavailable`.
 */
export async function removeClaim(
  stateStore: StateStore,
  { claim: id }: MessageControl,
  message: string,
): Promise<void> {
  const [claim] = await stateStore.load(messageClaimsTable, [id]);
  if (claim?.body.message !== message) return;
  await stateStore.remove(messageClaimsTable, [id], claim.revision);
}
