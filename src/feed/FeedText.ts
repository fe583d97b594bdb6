import type { Position, RecordedEvent } from '../ports/eventLog.ts';
import type { ChangedFields } from './ChangedFields.ts';
import { toCloudEvent } from './cloudEvent.ts';
import { createDeidentifier, type Deidentifier } from './deidentify.ts';
import type { Chunk } from './messages.ts';
import { formatPosition } from './position.ts';
import type { Selection } from './selection.ts';

/** A chunk ends with the event that takes it beyond so many characters. */
const CHUNK_LENGTH = 512 * 1024;

const encoder = new TextEncoder();

/** Events of the log in a row, with the names of the fields that each changed, as text that is made once for each view. */
export class FeedText {
  readonly events: RecordedEvent[];
  readonly #changed: string[][];
  readonly #deidentifier: () => Deidentifier;
  readonly #texts: Record<Selection['view'], (string | undefined)[]> = { full: [], deidentified: [] };

  private constructor(events: RecordedEvent[], changed: string[][], deidentifier: () => Deidentifier) {
    this.events = events;
    this.#changed = changed;
    this.#deidentifier = deidentifier;
  }

  /** Rejects with `unavailable`. */
  static async of(
    events: RecordedEvent[],
    changedFields: ChangedFields,
    deidentifier: () => Deidentifier,
  ): Promise<FeedText> {
    return new FeedText(events, await changedFields.of(events), deidentifier);
  }

  /** The event at an index, as JSON. */
  json(index: number, view: Selection['view']): string {
    const texts = this.#texts[view];
    texts[index] ??= this.#format(index, view);
    return texts[index];
  }

  #format(index: number, view: Selection['view']): string {
    const event = this.events[index] as RecordedEvent;
    const full = toCloudEvent(event, this.#changed[index] as string[]);
    if (view === 'full') return JSON.stringify(full);
    return JSON.stringify(this.#deidentifier()(event.metadata.workspace, full));
  }
}

/** Makes the de-identified view when it is first asked for. */
export function lazyDeidentifier(secret: () => Uint8Array): () => Deidentifier {
  let deidentifier: Deidentifier | undefined;
  return () => {
    deidentifier ??= createDeidentifier(Buffer.from(secret()));
    return deidentifier;
  };
}

/** Collects events of one selection into a chunk. */
export class ChunkText {
  readonly #selection: Selection;
  #text = '';
  count = 0;

  constructor(selection: Selection) {
    this.#selection = selection;
  }

  get full(): boolean {
    return this.#text.length >= CHUNK_LENGTH;
  }

  add(text: FeedText, index: number): void {
    const { view, format } = this.#selection;
    const json = text.json(index, view);
    this.count += 1;
    if (format === 'ndjson') {
      this.#text += `${json}\n`;
    } else {
      const { position } = text.events[index] as RecordedEvent;
      this.#text += `id: ${formatPosition(position)}\ndata: ${json}\n\n`;
    }
  }

  /** What was collected, up to a position. */
  end(position: Position): Chunk {
    return { bytes: encoder.encode(this.#text), count: this.count, position };
  }
}
