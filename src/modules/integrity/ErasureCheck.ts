import {
  dataAs,
  type ErasedEvent,
  type RecordedEvent,
  type UnreadableEvent,
} from '../../domain/events/event.ts';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import { erasureStep, type RecordErased } from '../../domain/events/recordErased.ts';

/** An erasure reported by a tombstone. */
export interface ToldErasure {
  stream: string;
  /** Number of versions listed by the erasure's tombstones. */
  versions: number;
  reason: string;
  principal: Principal;
  /** ISO 8601, UTC. */
  erased_at: string;
}

/** Checks the places of erased events against the tombstones that stand for them. */
export class ErasureCheck {
  /** From the last tombstone of each erasure that removed something, in log order. */
  readonly told: ToldErasure[] = [];
  /** Erased events for which no tombstone was found yet, by position. */
  readonly #unnamed = new Map<number, ErasedEvent>();
  /** Streams whose tombstones have named erased events, until their last tombstone. */
  readonly #naming = new Set<string>();
  #count = 0;

  /** Number of erased events. */
  get count(): number {
    return this.#count;
  }

  /** Takes the next entry of the log. An erased event comes before its tombstones. */
  take(event: RecordedEvent | UnreadableEvent | ErasedEvent): void {
    if ('data' in event) {
      if (erasureStep(event)) this.#takeTombstone(event);
    } else if ('leaf' in event) {
      this.#count += 1;
      this.#unnamed.set(event.position, event);
    }
  }

  /** The first erased event without a tombstone: it is missing. */
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
    // An erasure that came after a legal hold removed nothing.
    if (part !== parts || !this.#naming.delete(event.stream)) return;
    const { stream, revision, recordedAt, metadata } = event;
    const versions = revision + 1 - parts;
    this.told.push({ stream, versions, reason, principal: metadata.principal, erased_at: recordedAt });
  }
}
