import { dataAs, type ErasedEvent, type RecordedEvent, type UnreadableEvent } from '../events/event.ts';
import type { Principal } from '../events/eventMetadata.ts';
import { erasureStep, type RecordErased } from '../events/recordErased.ts';

/** An erasure that a tombstone tells of. */
export interface ToldErasure {
  stream: string;
  /** Versions that the tombstones of the erasure list. */
  versions: number;
  reason: string;
  principal: Principal;
  /** ISO 8601, UTC. */
  erased_at: string;
}

/** Holds the places of erased events against the tombstones that stand for them. */
export class ErasureCheck {
  /** Of the last tombstone of each erasure of which something was removed, in the order of the log. */
  readonly told: ToldErasure[] = [];
  /** Erased events that no tombstone was found for yet, by position. */
  readonly #unnamed = new Map<number, ErasedEvent>();
  /** Streams of which tombstones named erased events, until their last tombstone. */
  readonly #naming = new Set<string>();
  #count = 0;

  /** How many events were erased. */
  get count(): number {
    return this.#count;
  }

  /** Takes what stands next in the log. An erased event comes before its tombstones. */
  take(event: RecordedEvent | UnreadableEvent | ErasedEvent): void {
    if ('data' in event) {
      if (erasureStep(event)) this.#takeTombstone(event);
    } else if ('leaf' in event) {
      this.#count += 1;
      this.#unnamed.set(event.position, event);
    }
  }

  /** The first erased event for which no tombstone stands: it is missing. */
  get unnamed(): ErasedEvent | undefined {
    const [first] = [...this.#unnamed.values()].sort((a, b) => a.position - b.position);
    return first;
  }

  #takeTombstone(event: RecordedEvent): void {
    const { erased, reason, part, parts } = dataAs<RecordErased>(event.data);
    for (const { position, event_id, leaf } of erased) {
      const place = this.#unnamed.get(position);
      if (place?.id !== event_id || place.leaf !== leaf) continue;
      this.#unnamed.delete(position);
      this.#naming.add(event.stream);
    }
    // One that came behind a legal hold removed nothing.
    if (part !== parts || !this.#naming.delete(event.stream)) return;
    const { stream, revision, recordedAt, metadata } = event;
    const versions = revision + 1 - parts;
    this.told.push({ stream, versions, reason, principal: metadata.principal, erased_at: recordedAt });
  }
}
