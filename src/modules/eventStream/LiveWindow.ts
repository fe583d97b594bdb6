import type { Position } from '../../domain/events/event.ts';
import type { Chunk } from './threadMessages.ts';

/**
 * Bytes kept for subscribers that are slightly behind; those further behind read the log instead. Where there are many windows, each
 * keeps less, so that together they keep no more than 64 MB.
 */
const WINDOW_BYTES = 4 * 1024 * 1024;
const ALL_WINDOWS_BYTES = 64 * 1024 * 1024;

interface Kept extends Chunk {
  /** The selection has nothing between the previous chunk and here. */
  after: Position;
}

/** The latest events of one selection, shared by all its subscribers. */
export class LiveWindow {
  readonly #waiting = new Set<() => void>();
  #chunks: Kept[] = [];
  #bytes = 0;
  /** Everything of the selection after it is in the window or yet to come. */
  #from: Position;
  #position: Position;

  constructor(position: Position) {
    this.#from = position;
    this.#position = position;
  }

  /** How far the log is known here. */
  get position(): Position {
    return this.#position;
  }

  /**
   * Adds what was appended since the last call, up to `position`, and wakes those waiting when there is anything. `windows`: how many
   * there are.
   */
  push(chunks: Chunk[], position: Position, windows: number): void {
    const most = Math.min(WINDOW_BYTES, ALL_WINDOWS_BYTES / windows);
    for (const chunk of chunks) {
      this.#chunks.push({ ...chunk, after: this.#position });
      this.#bytes += chunk.bytes.length;
      this.#position = chunk.position;
    }
    this.#position = position;
    while (this.#bytes > most && this.#chunks.length > 1) {
      const gone = this.#chunks.shift() as Kept;
      this.#bytes -= gone.bytes.length;
      this.#from = gone.position;
    }
    if (chunks.length > 0) this.wake();
  }

  /** Erased events must not be handed out any more: only the log has what came up to here. */
  forget(): void {
    this.#chunks = [];
    this.#bytes = 0;
    this.#from = this.#position;
    this.wake();
  }

  /** From now on only the log has what follows. */
  stop(): void {
    this.#from = Number.POSITIVE_INFINITY;
    this.wake();
  }

  /** Returns what follows a position: a chunk; undefined if there is nothing yet; or `behind`, when only the log has it. */
  next(position: Position): Chunk | 'behind' | undefined {
    if (position < this.#from) return 'behind';
    const index = this.#chunks.findLastIndex((chunk) => chunk.position <= position) + 1;
    const chunk = this.#chunks[index];
    // A position within a chunk was brought along by a caller.
    return chunk && chunk.after < position ? 'behind' : chunk;
  }

  /** Resolves when there is something new, or `wake` is called. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#waiting.add(resolve));
  }

  wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const resolve of waiting) resolve();
  }
}
