import type { RefusedLines } from '../../domain/events/refusedLines.ts';
import { catalog } from '../../domain/records/catalog.ts';
import type { LineResult } from '../../modules/records/commands/batchLine.ts';
import type { ErrorCode } from '../../platform/errors.ts';
import { batchLineSchema } from '../schemas/batchSchemas.ts';
import { fieldNames } from '../schemas/fieldNames.ts';
import { asServiceError, isRetryable, statusOf } from '../server/errorAnswer.ts';
import { failingFields, MAX_FIELDS } from '../server/failingFields.ts';

/** Faults in a record are reported by its own field names. */
const known: ReadonlySet<string> = new Set(
  [batchLineSchema, ...catalog.map(({ schema }) => schema)].flatMap(fieldNames),
);

/** Counts the outcomes of a batch's lines. */
export class BatchTally {
  readonly #lines: number;
  readonly #outcomes = { created: 0, updated: 0, unchanged: 0 };
  #skipped = 0;
  readonly #codes = new Map<ErrorCode, number>();
  readonly #fields = new Map<string, number>();

  /** `lines`: the number of lines. */
  constructor(lines: number) {
    this.#lines = lines;
  }

  count(result: LineResult): void {
    if ('written' in result) {
      this.#outcomes[result.written.outcome] += 1;
      if (result.written.isSkipped) this.#skipped += 1;
      return;
    }
    const { code, details } = asServiceError(result.error);
    addOne(this.#codes, code);
    for (const field of failingFields(details, known)) addOne(this.#fields, field);
  }

  /** The last line of the response. */
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

  /** The number of records that got no event because nothing changed. */
  get skipped(): number {
    return this.#skipped;
  }

  /**
   * What was refused for its own reasons rather than the service's, and the most frequent code; undefined where
   * nothing was.
   */
  get refusal(): { code: ErrorCode; lines: RefusedLines } | undefined {
    const refused = byCount(this.#codes).filter(([code]) => statusOf[code] < 500);
    const [mostly] = refused;
    if (mostly === undefined) return undefined;
    const fields = byCount(this.#fields).slice(0, MAX_FIELDS);
    return {
      code: mostly[0],
      lines: {
        sent: this.#lines,
        refused: Object.fromEntries(refused),
        ...(fields.length > 0 && { fields: Object.fromEntries(fields) }),
      },
    };
  }
}

function addOne<Name>(counts: Map<Name, number>, name: Name): void {
  counts.set(name, (counts.get(name) ?? 0) + 1);
}

/** Sorts the most frequent first. */
function byCount<Name>(counts: ReadonlyMap<Name, number>): [Name, number][] {
  return [...counts].sort(([, a], [, b]) => b - a);
}
