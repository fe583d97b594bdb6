import type { RecordedEvent } from '../events/event.ts';
import { EventIds } from './EventIds.ts';
import type { TreeHead } from './treeHead.ts';

/** Events of one oddity that are named; the others are counted. */
const NAMED = 20;

/**
 * What is odd about an event: it claims to be older than the head behind which it stands; it has the id of another one;
 * it claims to be older than the event before it.
 */
export const oddityKinds = ['olderThanHead', 'repeatedId', 'olderThanBefore'] as const;
export type OddityKind = (typeof oddityKinds)[number];

export interface OddEvent
  extends Pick<RecordedEvent, 'id' | 'stream' | 'revision' | 'position' | 'recordedAt'> {
  /** The time that it should not be older than; none where its id is what is odd. */
  notBefore?: string;
}

/** How many events are odd in a way, and the first of them. */
export interface OddEvents {
  count: number;
  first: OddEvent[];
}

export type Oddities = Record<OddityKind, OddEvents>;

/** Looks at the events of a workspace, one after the other, for what no service would have written. */
export class OddityCheck {
  readonly found: Oddities = {
    olderThanHead: { count: 0, first: [] },
    repeatedId: { count: 0, first: [] },
    olderThanBefore: { count: 0, first: [] },
  };
  readonly #ids = new EventIds();
  readonly #headTimes: Map<number, string | undefined>;
  /** Of the last head that was passed. */
  #headTime: string | undefined;
  #before: string | undefined;

  constructor(heads: readonly TreeHead[]) {
    this.#headTimes = new Map(heads.map((head) => [head.size, head.last_event_recorded_at]));
  }

  /** Takes the workspace's event number `size`, counted from 1. */
  look(event: RecordedEvent, size: number): void {
    const { id, recordedAt } = event;
    if (!this.#ids.add(id)) this.#note('repeatedId', event);
    if (this.#headTime !== undefined && recordedAt < this.#headTime) {
      this.#note('olderThanHead', event, this.#headTime);
    } else if (this.#before !== undefined && recordedAt < this.#before) {
      this.#note('olderThanBefore', event, this.#before);
    }
    // The event at a head's end is covered by its hash: where the head does not tell the time, the event does.
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
