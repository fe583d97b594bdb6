import type { RecordedEvent } from '../../domain/events/event.ts';
import { EventIds } from './EventIds.ts';
import type { TreeHead } from './treeHead.ts';

/** Number of events per oddity that are listed; the rest are counted. */
const NAMED = 20;

/**
 * What is odd about an event: it claims to be older than the preceding head; it has the id of another event; it claims to be
 * older than the event before it.
 */
export const oddityKinds = ['olderThanHead', 'repeatedId', 'olderThanBefore'] as const;
export type OddityKind = (typeof oddityKinds)[number];

export interface OddEvent
  extends Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position' | 'recordedAt'> {
  /** The time that it should not precede; absent if the oddity is its id. */
  notBefore?: string;
}

/** How many events have an oddity, and the first of them. */
export interface OddEvents {
  count: number;
  first: OddEvent[];
}

export type Oddities = Record<OddityKind, OddEvents>;

/** Examines the events of a workspace, one after the other, for anything that no service would have written. */
export class OddityCheck {
  readonly found: Oddities = {
    olderThanHead: { count: 0, first: [] },
    repeatedId: { count: 0, first: [] },
    olderThanBefore: { count: 0, first: [] },
  };
  readonly #ids = new EventIds();
  readonly #headTimes: Map<number, string | undefined>;
  /** Time of the last head passed. */
  #headTime: string | undefined;
  #before: string | undefined;

  constructor(heads: readonly TreeHead[]) {
    this.#headTimes = new Map(heads.map((head) => [head.size, head.last_event_recorded_at]));
  }

  /** Examines event number `size` of the workspace, counted from 1. */
  look(event: RecordedEvent, size: number): void {
    const { id, recordedAt } = event;
    if (!this.#ids.add(id)) this.#note('repeatedId', event);
    if (this.#headTime !== undefined && recordedAt < this.#headTime) {
      this.#note('olderThanHead', event, this.#headTime);
    } else if (this.#before !== undefined && recordedAt < this.#before) {
      this.#note('olderThanBefore', event, this.#before);
    }
    // The event at a head's end is covered by its hash: if the head has no time, the event's is used.
    if (this.#headTimes.has(size)) this.#headTime = this.#headTimes.get(size) ?? recordedAt;
    this.#before = recordedAt;
  }

  #note(kind: OddityKind, event: RecordedEvent, notBefore?: string): void {
    const events = this.found[kind];
    events.count += 1;
    if (events.first.length === NAMED) return;
    const { id, stream, revision, position, recordedAt } = event;
    events.first.push({ id, stream, revision, position, recordedAt, ...(notBefore && { notBefore }) });
  }
}
