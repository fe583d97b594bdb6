import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep } from '../../domain/events/recordErased.ts';
import { untilAvailable } from '../../platform/untilAvailable.ts';
import type { EventBatch, EventLog } from '../../storage/eventLog.ts';
import type { MakeText } from './CatchUp.ts';
import { feedLogTypes, selectedAs } from './cloudEvent.ts';
import { ChunkText, type FeedText } from './FeedText.ts';
import type { Selection } from './selection.ts';
import type { Chunk, FeedReply } from './threadMessages.ts';

const filter = { eventTypes: [...feedLogTypes] };

/**
 * The growing end of the log, for all followed selections: one reader of the log, which runs while there are any. Each event is
 * converted to text once for each view, whatever the number of selections.
 */
export class Tail {
  readonly #eventLog: EventLog;
  readonly #makeText: MakeText;
  readonly #send: (reply: FeedReply) => void;
  readonly #stop = new AbortController();
  readonly #selections = new Map<number, Selection>();
  /** Selections that are yet to join: between two batches. */
  readonly #joining = new Map<number, Selection>();
  #position: Position | undefined;
  #working = false;

  constructor(eventLog: EventLog, makeText: MakeText, send: (reply: FeedReply) => void) {
    this.#eventLog = eventLog;
    this.#makeText = makeText;
    this.#send = send;
    this.#run().catch(() => this.#send({ kind: 'tailFailed' }));
  }

  /** Everything up to here was sent; 0 before the tail knows where the log ends. */
  get position(): Position {
    return this.#position ?? 0;
  }

  get empty(): boolean {
    return this.#selections.size + this.#joining.size === 0;
  }

  add(tail: number, selection: Selection): void {
    this.#joining.set(tail, selection);
    if (!this.#working) this.#join();
  }

  delete(tail: number): void {
    this.#selections.delete(tail);
    this.#joining.delete(tail);
  }

  close(): void {
    this.#stop.abort();
  }

  #join(): void {
    if (this.#position === undefined) return;
    for (const [tail, selection] of this.#joining) {
      this.#selections.set(tail, selection);
      this.#send({ kind: 'tailing', tail, position: this.#position });
    }
    this.#joining.clear();
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    const after = await untilAvailable(() => this.#eventLog.head(), signal);
    if (after === undefined) return;
    this.#position = after;
    this.#join();
    for await (const batch of this.#eventLog.follow({ after, filter, signal })) {
      this.#working = true;
      const workspaces = new Set([...this.#selections.values()].map(({ workspace }) => workspace));
      const events = batch.events.filter(({ metadata }) => workspaces.has(metadata.workspace));
      const text = await untilAvailable(() => this.#makeText(events), signal);
      if (text === undefined) return;
      this.#tell(text, batch);
      this.#working = false;
      this.#join();
    }
  }

  #tell(text: FeedText, { position }: EventBatch): void {
    const byWorkspace = Map.groupBy(text.events.keys(), (index) => text.events[index]?.metadata.workspace);
    const chunks = new Map<number, Chunk[]>();
    const stopped: number[] = [];
    const erased: number[] = [];
    for (const [tail, selection] of this.#selections) {
      const indexes = byWorkspace.get(selection.workspace);
      if (indexes?.some((index) => erasureStep(text.events[index] as RecordedEvent))) erased.push(tail);
      const found = indexes && chunksOf(text, indexes, selection, position);
      if (found === 'stop') stopped.push(tail);
      else if (found) chunks.set(tail, found);
    }
    for (const tail of stopped) this.#selections.delete(tail);
    this.#position = position;
    this.#send({ kind: 'appended', position, chunks, stopped, erased });
  }
}

/** Returns the events of a selection, in chunks; the last one extends to `position`. `stop`: one of them cannot be reported. */
function chunksOf(
  text: FeedText,
  indexes: number[],
  selection: Selection,
  position: Position,
): Chunk[] | 'stop' {
  const chunks: Chunk[] = [];
  let chunk = new ChunkText(selection);
  let at = 0;
  for (const index of indexes) {
    const event = text.events[index] as RecordedEvent;
    if (!selection.eventTypes.includes(selectedAs(event))) continue;
    const problem = text.problem(index);
    if (problem === 'lost') continue;
    if (problem) return 'stop';
    if (chunk.full) {
      chunks.push(chunk.end(at));
      chunk = new ChunkText(selection);
    }
    chunk.add(text, index);
    at = event.position;
  }
  if (chunk.count > 0) chunks.push(chunk.end(position));
  return chunks;
}
