import type { FieldMessage } from '../../../platform/errors.ts';
import { CommandError } from '../../lib/CommandError.ts';
import type { Fingerprint } from './fingerprint.ts';

/** A record that an import is to send. */
export interface SourceRecord {
  kind: string;
  /** Where it was read: `encounters.csv:12`, by line. */
  source: string;
  record: Record<string, unknown>;
  /** What the source had to guess. */
  warnings?: FieldMessage[];
}

/** A place in the input that contains no record. */
export interface UnreadableEntry {
  source: string;
  /** What is wrong with it, without any of its content. */
  error: string;
}

/** The input of an import. It is read as a stream, once for each kind, and yields the same each time. */
export interface ImportSource {
  /** The kinds that it may contain, in the order in which they refer to each other. */
  readonly kinds: readonly string[];

  /** Lets a resumed import detect whether the input is still the same. Rejects with `ImportError`. */
  fingerprint(): Promise<Fingerprint>;

  /**
   * Reads everything once: returns the number of records of each kind, and reports anything else to `onUnreadable`. Ends early
   * when `stop` is aborted. Rejects with `ImportError` when the input as a whole cannot be read.
   */
  survey(onUnreadable: (entry: UnreadableEntry) => void, stop: AbortSignal): Promise<Map<string, number>>;

  /** Yields the records of one kind, in the order of the input. */
  records(kind: string): AsyncIterable<SourceRecord>;
}

/** Ends an import early; the message says what to do about it. */
export class ImportError extends CommandError {}

/** The service accepts nothing at all: not with this key, or not at this address. */
export class NothingTaken extends ImportError {}
