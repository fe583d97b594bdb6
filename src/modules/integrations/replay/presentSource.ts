import type { KeyState } from '../../auth/keyState.ts';
import type { Message } from '../messages/message.ts';
import { BUILT_IN_SOURCE, type Source } from '../source.ts';
import { sourceOf } from '../sourceOf.ts';

/**
 * Returns the source by which a message is read, among those now configured: its own; for one that arrived when none
 * was configured, the one its sender has. Undefined where its source has been removed, or now has another format.
 */
export function presentSource(
  sources: readonly Source[],
  { source, format, sent_by }: Pick<Message, 'source' | 'format' | 'sent_by'>,
  known: Pick<KeyState, 'keys'>,
): Source | undefined {
  if (source === BUILT_IN_SOURCE) return sourceOf(sources, format, { keyId: sent_by.id, known });
  return sources.find((one) => one.id === source && one.format === format);
}
