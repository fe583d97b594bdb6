import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { tombstoneTypes } from '../../domain/events/recordErased.ts';
import type { UnknownErasure } from '../erasure/eraseAgain.ts';
import type { NoticedErasure } from '../erasure/erasureNotice.ts';

/** The contents of a place in a log; what was erased has no type. */
type Place = Pick<RecordedEvent, 'position' | 'stream' | 'id'> & { type?: string };

/** Finds the streams that notices of erasures identify only by places, as the places of a log pass by. */
export class ConcernedStreams {
  readonly #erasures: readonly NoticedErasure[];
  readonly #wanted: ReadonlySet<Position>;
  readonly #found = new Map<Position, Place>();

  constructor(erasures: readonly NoticedErasure[]) {
    this.#erasures = erasures;
    this.#wanted = new Set(erasures.flatMap(({ tombstone, first }) => [tombstone, first.position]));
  }

  take(places: readonly Place[]): void {
    for (const place of places) if (this.#wanted.has(place.position)) this.#found.set(place.position, place);
  }

  /** Returns the erasures of streams that passed by whose tombstones did not. */
  unknown(): UnknownErasure[] {
    return this.#erasures.flatMap((erasure) => {
      const { tombstone, first } = erasure;
      const place = this.#found.get(first.position);
      if (place?.id !== first.event_id) return [];
      // A log that was reset to an earlier state may have something else there by now.
      const there = this.#found.get(tombstone);
      const isKnown = there?.stream === place.stream && isTombstone(there);
      return isKnown ? [] : [{ ...erasure, stream: place.stream }];
    });
  }
}

/** Whether it is a tombstone, or what is left of one. */
function isTombstone({ type }: Place): boolean {
  return type === undefined || tombstoneTypes.includes(type);
}
