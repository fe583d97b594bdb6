import type { RecordedEvent } from '../../domain/events/event.ts';
import { asUnreadable, UnreadableError } from '../../platform/errors.ts';

/**
 * Calls `erase` with each of some things, and returns the tombstones of all. Rejects with `unreadable` for those that cannot be read,
 * once the others are erased.
 */
export async function eraseEach<One>(
  ones: Iterable<One>,
  erase: (one: One) => Promise<RecordedEvent[]>,
): Promise<RecordedEvent[]> {
  const tombstones: RecordedEvent[] = [];
  let unread: UnreadableError | undefined;
  for (const one of ones) {
    const erased = await erase(one).catch(asUnreadable);
    if (erased instanceof UnreadableError) unread = erased;
    else tombstones.push(...erased);
  }
  if (unread) throw unread;
  return tombstones;
}
