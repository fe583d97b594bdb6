import type { ErasedEvent, Position, UnreadableEvent } from '../../../domain/events/event.ts';
import type { EventBatch } from '../../eventLog.ts';
import type { Erasures } from './Erasures.ts';
import type { Erasure } from './erasureNote.ts';

/** Number of streams whose tombstones are read concurrently. */
const AT_ONCE = 16;
/** Number of events and erased places in one part of a batch. */
const PART = 500;

interface Stream {
  erasure: Erasure;
  /** Undefined until its tombstones are read. */
  places?: ErasedEvent[];
}

/**
 * Tells one follower where events were erased, whether the server still delivers them or a scavenge removed them. The places are
 * in the tombstones, which are read when the follower reaches the first of a stream's.
 */
export class ErasedPlaces {
  readonly #erasures: Erasures;
  readonly #wants: (stream: string) => boolean;
  /** Number of notes processed. */
  #taken = 0;
  /** Streams that may have places beyond those reported. */
  readonly #streams = new Map<string, Stream>();

  constructor(erasures: Erasures, wants: (stream: string) => boolean) {
    this.#erasures = erasures;
    this.#wants = wants;
  }

  /**
   * Yields a batch that begins after a position, in parts: without the erased events, with their places. Everything removed
   * before the batch was read must be known by now. Rejects with `unavailable`.
   */
  async *parts(batch: EventBatch, after: Position): AsyncGenerator<EventBatch> {
    let position = after;
    while (position < batch.position) {
      const missing = this.#missing(position, batch.position);
      const end = missing[0] ? missing[0].erasure.first - 1 : batch.position;
      if (end > position) {
        const { events, unreadable, erased } = this.#told(batch, position, end);
        const places = [...events, ...unreadable, ...erased]
          .map((place) => place.position)
          .sort((a, b) => a - b);
        const last = places[PART - 1] ?? (end === batch.position ? end : places.at(-1));
        position = last ?? end;
        if (last !== undefined) yield part(batch, { events, unreadable, erased }, last);
      } else {
        const read = async (stream: Stream) => {
          stream.places = await this.#erasures.eventsOf(stream.erasure);
        };
        await Promise.all(missing.slice(0, AT_ONCE).map(read));
        // Any removal of a tombstone during the read has been noted by now.
        await this.#erasures.refresh();
      }
    }
    if (after === batch.position) yield batch;
  }

  /** Returns streams with unknown places in a range; those that begin first come first. */
  #missing(after: Position, upTo: Position): Stream[] {
    const { notes } = this.#erasures;
    for (; this.#taken < notes.length; this.#taken += 1) {
      const erasure = notes[this.#taken] as Erasure;
      if (this.#wants(erasure.stream)) this.#streams.set(erasure.stream, { erasure });
    }
    const missing: Stream[] = [];
    for (const [name, stream] of this.#streams) {
      if (stream.erasure.last <= after) this.#streams.delete(name);
      else if (stream.places === undefined && stream.erasure.first <= upTo) missing.push(stream);
    }
    return missing.sort((a, b) => a.erasure.first - b.erasure.first);
  }

  #told(batch: EventBatch, after: Position, end: Position) {
    const within = ({ position }: { position: Position }) => position > after && position <= end;
    const isPresent = (event: UnreadableEvent) => within(event) && !this.#erasures.has(event);
    const events = batch.events.filter(isPresent);
    const unreadable = (batch.unreadable ?? []).filter(isPresent);
    const erased = [...this.#streams.values()].flatMap(({ places = [] }) => places.filter(within));
    return { events, unreadable, erased: erased.sort((a, b) => a.position - b.position) };
  }
}

/** Returns the part of a batch up to a position, from what is to be reported of it. */
function part(
  batch: EventBatch,
  told: Required<Pick<EventBatch, 'events' | 'unreadable' | 'erased'>>,
  position: Position,
): EventBatch {
  const fits = (place: { position: Position }) => place.position <= position;
  const unreadable = told.unreadable.filter(fits);
  const erased = told.erased.filter(fits);
  return {
    events: told.events.filter(fits),
    ...(unreadable.length > 0 && { unreadable }),
    ...(erased.length > 0 && { erased }),
    position,
    caughtUp: batch.caughtUp && position === batch.position,
  };
}
