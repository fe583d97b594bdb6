import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { UnknownSchemaVersion, upcast } from '../../domain/events/upcast.ts';
import { UnreadableError } from '../../platform/errors.ts';
import { type Change, type ChangedFields, isUnchanged, type ToldChange } from './ChangedFields.ts';
import { toCloudEvent, toEnvelope } from './cloudEvent.ts';
import { createDeidentifier, type Deidentifier, type PseudonymKey } from './Deidentifier.ts';
import { formatPosition } from './position.ts';
import type { Selection } from './selection.ts';
import type { Chunk } from './threadMessages.ts';

/** A chunk ends with the event that takes it beyond this many bytes. Larger ones cost more to allocate than they save. */
const CHUNK_BYTES = 256 * 1024;

const encoder = new TextEncoder();
/** Where the current chunk is assembled; encoding into it is five times as fast as into fresh memory. */
let scratch = new Uint8Array(4 * CHUNK_BYTES);

/** Consecutive events of the log, as text that is created once for each view. */
export class FeedText {
  readonly events: RecordedEvent[];
  readonly #changes: ToldChange[];
  readonly #deidentifier: () => Deidentifier;
  readonly #texts = new Map<string, (string | undefined)[]>();

  private constructor(events: RecordedEvent[], changes: ToldChange[], deidentifier: () => Deidentifier) {
    this.events = events;
    this.#changes = changes;
    this.#deidentifier = deidentifier;
  }

  /** Rejects with `unavailable`. */
  static async of(
    events: RecordedEvent[],
    changedFields: ChangedFields,
    deidentifier: () => Deidentifier,
  ): Promise<FeedText> {
    return new FeedText(events, await changedFields.changes(events), deidentifier);
  }

  /**
   * Returns what prevents reporting the event at an index: it is `lost`, because it or an earlier event in its stream is damaged,
   * and is skipped; or only a newer version of the service can read it, and it must not be skipped, as readers rely on the order.
   */
  problem(index: number): 'lost' | UnknownSchemaVersion | undefined {
    const told = this.#changes[index];
    if (told instanceof UnknownSchemaVersion) return told;
    return told instanceof UnreadableError ? 'lost' : undefined;
  }

  /** Whether the event at an index, which has no `problem`, changed no field. */
  isUnchanged(index: number): boolean {
    return isUnchanged(this.events[index] as RecordedEvent, this.#changes[index] as Change);
  }

  /** Returns the event at an index, which has no `problem`, as JSON. */
  json(index: number, { view, address }: Pick<Selection, 'view' | 'address'>): string {
    const key = `${view} ${address}`;
    const texts = this.#texts.get(key) ?? [];
    this.#texts.set(key, texts);
    texts[index] ??= this.#format(index, view, address);
    return texts[index];
  }

  #format(index: number, view: Selection['view'], address: string): string {
    const event = this.events[index] as RecordedEvent;
    const { sent, changed } = this.#changes[index] as Change;
    if (view === 'deidentified') {
      return JSON.stringify(
        this.#deidentifier()(event.metadata.workspace, toCloudEvent(event, changed, address)),
      );
    }
    const envelope = JSON.stringify(toEnvelope(upcast(event), address));
    // What was sent is most of it, and is already text.
    return `${envelope.slice(0, -1)},"data":{"version":${event.revision + 1},"sent":${sent},"changed":${JSON.stringify(changed)}}}`;
  }
}

/** Creates the de-identified view on first use. */
export function lazyDeidentifier(key: () => PseudonymKey): () => Deidentifier {
  let deidentifier: Deidentifier | undefined;
  return () => {
    deidentifier ??= createDeidentifier(key());
    return deidentifier;
  };
}

/** Collects events of one selection into a chunk. */
export class ChunkText {
  readonly #selection: Selection;
  #length = 0;
  #first: Position | undefined;
  count = 0;

  constructor(selection: Selection) {
    this.#selection = selection;
  }

  get full(): boolean {
    return this.#length >= CHUNK_BYTES;
  }

  /** Adds the event at an index, unless the selection omits it for having changed nothing. */
  add(text: FeedText, index: number): void {
    const { format, unchanged } = this.#selection;
    if (unchanged === 'skip' && text.isUnchanged(index)) return;
    const json = text.json(index, this.#selection);
    const { position } = text.events[index] as RecordedEvent;
    this.#first ??= position;
    this.count += 1;
    if (format === 'ndjson') {
      this.#write(`${json}\n`);
    } else {
      this.#write(`id: ${formatPosition(position)}\ndata: ${json}\n\n`);
    }
  }

  /** Returns what was collected, up to a position. */
  end(position: Position): Chunk {
    const bytes = scratch.slice(0, this.#length);
    return { bytes, count: this.count, first: this.#first ?? position, position };
  }

  #write(frame: string): void {
    // UTF-8 takes at most three bytes per UTF-16 code unit.
    const most = this.#length + frame.length * 3;
    if (most > scratch.length) {
      const larger = new Uint8Array(most * 2);
      larger.set(scratch.subarray(0, this.#length));
      scratch = larger;
    }
    this.#length += encoder.encodeInto(frame, scratch.subarray(this.#length)).written;
  }
}
