import type { RecordedEvent as DriverEvent, Position as DriverPosition } from '@eventstore/db-client';
import { LRUCache } from 'lru-cache';
import { isJsonObject, type Position, type RecordedEvent } from '../../../domain/events/event.ts';
import { lastBeforeOmitted, type OmittedPositions } from '../../eventLog.ts';
import { unusable } from './drivers/driver.ts';

/** Notes of the copy of another log to this server; its events have no workspace, so they belong to nobody, nor has its name a dot. */
export const COPY_STREAM = 'chartledger-copy';

/** Types of the notes: the copy began; everything up to a position precedes the note; the copy is complete. */
export const copyNotes = { begun: 'CopyBegun', mark: 'CopyMark', completed: 'CopyCompleted' } as const;

/** What the metadata of a copied event say of its original. */
export interface Original extends Pick<RecordedEvent, 'position'> {
  /** Missing for a place that holds no event: of one that was erased, or that could not be read. */
  recordedAt?: string;
  /** Whether the original could not be read. */
  unreadable?: true;
}

/** The member of the metadata that holds an `Original`. */
export const ORIGINAL = 'copiedFrom';

/** Returns what the metadata of an event say of its original, if it is a copy. */
export function originalOf({ metadata }: Pick<DriverEvent, 'metadata'>): Original | undefined {
  const original = isJsonObject(metadata) ? metadata[ORIGINAL] : undefined;
  return original as Original | undefined;
}

/** Returns the commit position: it fits a safe integer up to logs of 9 petabytes, and equals the prepare position. */
export function toPosition(position: DriverPosition | undefined): Position {
  if (position === undefined) {
    const problem =
      'The server of the event log reports no positions: EventStoreDB 23.10 or newer is needed.';
    throw unusable(undefined, problem);
  }
  return Number(position.commit);
}

/** What the note of a complete copy says. */
export interface CopyCompleted {
  /** The end of the copied log: every position up to it belongs to that, except the omitted ones. */
  position: Position;
  /** What is added to the server's positions of what was not copied. */
  offset: number;
  omitted: OmittedPositions[];
}

/** Number of copied events whose places are remembered: followers that stop for a moment continue there. */
const MAX_PLACES = 20_000;

/**
 * How the positions of the log follow from the server's places: they are the same, unless the log was copied to the server from
 * elsewhere. Copied events then keep their positions, and those of later events are above them.
 */
export class Positions {
  /** The end of a complete copy; what the server has at and behind the place `at` was not copied. */
  #end: (CopyCompleted & { at: Position }) | undefined;
  /** By ascending position: copied events up to it are before the server's place `at`, later ones behind it. */
  readonly #marks: { position: Position; at: Position }[] = [];
  /** Places of copied events by their positions. */
  readonly #places = new LRUCache<Position, Position>({ max: MAX_PLACES });

  /** Takes the next notes of a copy, in order. */
  take(notes: readonly DriverEvent[]): void {
    for (const note of notes) {
      const at = toPosition(note.position);
      if (note.type !== copyNotes.completed)
        this.#marks.push({ ...(note.data as { position: Position }), at });
      else this.#end = { ...(note.data as unknown as CopyCompleted), at };
    }
  }

  /** Whether `placeOf` returns exactly the place of a position, which the log has. */
  isKnown(position: Position): boolean {
    return this.#end === undefined || position > this.#end.position || this.#places.has(position);
  }

  /** The positions that are not the log's, by ascending position. */
  omitted(): OmittedPositions[] {
    const end = this.#end;
    return end ? [...end.omitted, { after: end.position, position: end.at + end.offset }] : [];
  }

  /** Returns the position of an event; 0 for what is among the copied events and is none of them. */
  of(event: DriverEvent): Position {
    const place = toPosition(event.position);
    const original = this.original(event);
    if (original === undefined) return this.ofPlace(place);
    this.#places.set(original.position, place);
    return original.position;
  }

  /** The same of a place of the server that has no copied event. */
  ofPlace(place: Position): Position {
    if (this.#end === undefined) return place;
    return place < this.#end.at ? 0 : place + this.#end.offset;
  }

  /** What a copied event says of its original; undefined for any other event. */
  original(event: DriverEvent): Original | undefined {
    return this.#end && toPosition(event.position) < this.#end.at ? originalOf(event) : undefined;
  }

  /** Returns the place of a position, or one before that if it is that of a copied event; undefined if the log omits it. */
  placeOf(position: Position): Position | undefined {
    if (this.#end === undefined || position === 0) return position;
    if (lastBeforeOmitted(this.omitted(), position) !== undefined) return undefined;
    if (position > this.#end.position) return position - this.#end.offset;
    const known = this.#places.get(position);
    return known ?? this.#marks.findLast((mark) => mark.position < position)?.at ?? 0;
  }
}
