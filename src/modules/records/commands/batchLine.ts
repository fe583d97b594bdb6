import type { Written } from './upsertRecord.ts';

/** One line of a batch, as it was sent. */
export interface BatchLine {
  /** Its place among the lines, starting at 1. */
  readonly number: number;
  /** Its apparent kind, as far as it can be told without parsing. */
  readonly seemingKind: string | undefined;
  /** Its bytes, if it was a line of a text and not too large. */
  readonly bytes?: Buffer | undefined;
  /** Returns its content. Throws the error for a line that cannot be parsed. */
  read(): unknown;
}

/** The record that a line is about, as far as it gives a valid kind and id. */
export interface LineSubject {
  kind: string | null;
  id: string | null;
}

/** The result of a line: what the single upsert would have resolved or rejected with. */
export type LineResult = LineSubject & ({ written: Written } | { error: unknown });

/** Called with the result of each line, once, in no particular order. */
export type AnswerLine = (line: BatchLine, result: LineResult) => void;
