import type { Written } from '../upsertRecord.ts';

/** One line of a batch, as it was sent. */
export interface BatchLine {
  /** Its place among the lines, from 1 on. */
  readonly number: number;
  /** The kind that it seems to be of, as far as that is told without reading it. */
  readonly seemingKind: string | undefined;
  /** Its bytes, where it was one of a text, and not too large. */
  readonly bytes?: Buffer | undefined;
  /** What it says. Throws the refusal of a line that cannot be read. */
  read(): unknown;
}

/** What a line is about, as far as it names it with what a record can have. */
export interface LineSubject {
  kind: string | null;
  id: string | null;
}

/** What became of a line: what the single upsert would have resolved with, or rejected with. */
export type LineResult = LineSubject & ({ written: Written } | { error: unknown });

/** Is told what became of each line, once, in no order. */
export type AnswerLine = (line: BatchLine, result: LineResult) => void;
