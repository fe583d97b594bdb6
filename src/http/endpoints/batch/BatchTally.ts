import type { LineResult } from '../../../commands/batch/batchLine.ts';
import type { ErrorCode } from '../../../errors.ts';
import { asServiceError, isRetryable, statusOf } from '../../server/errorAnswer.ts';

/** What became of the lines of a batch, counted. */
export class BatchTally {
  readonly #lines: number;
  readonly #outcomes = { created: 0, updated: 0, unchanged: 0 };
  #skipped = 0;
  readonly #codes = new Map<ErrorCode, number>();

  /** Of so many lines. */
  constructor(lines: number) {
    this.#lines = lines;
  }

  count(result: LineResult): void {
    if ('written' in result) {
      this.#outcomes[result.written.outcome] += 1;
      if (result.written.isSkipped) this.#skipped += 1;
      return;
    }
    const { code } = asServiceError(result.error);
    this.#codes.set(code, (this.#codes.get(code) ?? 0) + 1);
  }

  /** The last line of the answer. */
  get summary() {
    const { created, updated, unchanged } = this.#outcomes;
    const codes = [...this.#codes];
    const sum = (counted: typeof codes) => counted.reduce((total, [, count]) => total + count, 0);
    return {
      lines: this.#lines,
      accepted: created + updated + unchanged,
      created,
      updated,
      unchanged,
      refused: sum(codes),
      retryable: sum(codes.filter(([code]) => isRetryable(code))),
      codes: Object.fromEntries(codes) as Partial<Record<ErrorCode, number>>,
    };
  }

  /** How many records got no event, as they were so already. */
  get skipped(): number {
    return this.#skipped;
  }

  /** How many lines were refused for their own reasons and not the service's, by code; the most frequent one first. */
  get refusals(): [ErrorCode, number][] {
    return [...this.#codes].filter(([code]) => statusOf[code] < 500).sort(([, a], [, b]) => b - a);
  }
}
