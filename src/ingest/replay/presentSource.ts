import type { Message } from '../../messages/message.ts';
import { BUILT_IN_SOURCE, type Source } from '../sources/source.ts';
import { sourceOf } from '../sources/sourceOf.ts';

/**
 * The source by which a message is read, by those that are configured: its own; of one that came when none was configured, that which its sender
 * has. Undefined where its source was removed, or is of another format by now.
 */
export function presentSource(
  sources: readonly Source[],
  { source, format, sent_by }: Pick<Message, 'source' | 'format' | 'sent_by'>,
): Source | undefined {
  if (source === BUILT_IN_SOURCE) return sourceOf(sources, format, sent_by.id);
  return sources.find((one) => one.id === source && one.format === format);
}
