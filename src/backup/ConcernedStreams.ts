import type { UnknownErasure } from '../erasure/notices/eraseAgain.ts';
import type { NoticedErasure } from '../erasure/notices/erasureNotice.ts';
import type { Position } from '../events/event.ts';
import type { CopiedPlace } from '../ports/logCopy.ts';

/** Finds the streams of which notices of erasures tell by places alone, while the places of a log pass by. */
export class ConcernedStreams {
  readonly #erasures: readonly NoticedErasure[];
  readonly #wanted: ReadonlySet<Position>;
  readonly #found = new Map<Position, CopiedPlace>();

  constructor(erasures: readonly NoticedErasure[]) {
    this.#erasures = erasures;
    this.#wanted = new Set(erasures.flatMap(({ tombstone, first }) => [tombstone, first.position]));
  }

  take(places: readonly CopiedPlace[]): void {
    for (const place of places) if (this.#wanted.has(place.position)) this.#found.set(place.position, place);
  }

  /** The erasures of streams that passed by whose tombstones did not. */
  unknown(): UnknownErasure[] {
    return this.#erasures.flatMap((erasure) => {
      const { tombstone, first } = erasure;
      const place = this.#found.get(first.position);
      const isUnknown = place?.id === first.event_id && !this.#found.has(tombstone);
      return isUnknown ? [{ ...erasure, stream: place.stream }] : [];
    });
  }
}
