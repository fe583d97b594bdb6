import type { ImportSource, SourceRecord } from './importSource.ts';

/** A record to be sent. */
export interface Row {
  item: SourceRecord;
  /** Its line, as sent. */
  line: string;
}

const MOST_ROWS = 1_000;
/** In UTF-16 code units; a single row may be longer. */
const MOST_TEXT = 4 * 1024 * 1024;

/**
 * Yields all records of a source after the first `skipped` ones, in chunks that are sent together. Kinds come in the order of the
 * source's `kinds`, records of a kind in the order of the source; so the same input is always divided in the same way.
 */
export async function* chunks(
  source: ImportSource,
  totals: ReadonlyMap<string, number>,
  skipped: number,
  lineOf: (item: SourceRecord) => string,
): AsyncGenerator<Row[]> {
  let rows: Row[] = [];
  let size = 0;
  for await (const item of recordsOf(source, totals, skipped)) {
    const line = lineOf(item);
    if (rows.length === MOST_ROWS || (rows.length > 0 && size + line.length > MOST_TEXT)) {
      yield rows;
      rows = [];
      size = 0;
    }
    rows.push({ item, line });
    size += line.length;
  }
  if (rows.length > 0) yield rows;
}

async function* recordsOf(
  source: ImportSource,
  totals: ReadonlyMap<string, number>,
  skipped: number,
): AsyncGenerator<SourceRecord> {
  let toSkip = skipped;
  for (const kind of source.kinds) {
    const total = totals.get(kind) ?? 0;
    if (toSkip >= total) {
      toSkip -= total;
      continue;
    }
    for await (const record of source.records(kind)) {
      if (toSkip > 0) toSkip--;
      else yield record;
    }
  }
}

/** Yields the same values; while one is being processed, the next is prepared. */
export async function* oneAhead<Value>(values: AsyncGenerator<Value>): AsyncGenerator<Value> {
  const ahead = () => {
    const next = values.next();
    // It is awaited later, if at all.
    next.catch(() => undefined);
    return next;
  };
  let next = ahead();
  try {
    for (;;) {
      const { done, value } = await next;
      if (done) return;
      next = ahead();
      yield value;
    }
  } finally {
    await values.return(undefined);
  }
}
