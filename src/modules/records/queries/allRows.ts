import type { ModelName, ReadModels, Row } from '../../../storage/readModels.ts';

const PAGE = 500;

/**
 * Yields all rows of a partition in the order of creation, reading a page at a time. Rows of events that the read
 * model had when the iteration began are included; a caller that needs writes acknowledged just now first waits for
 * them (`caughtUp`). Rejects with `unavailable`.
 */
export async function* allRows<Body extends object>(
  readModels: ReadModels,
  model: ModelName<Body>,
  partition: string,
): AsyncGenerator<Row<Body>> {
  for (let after: number | undefined; ; ) {
    const query = { partition, limit: PAGE, ...(after !== undefined && { after }) };
    const rows = await readModels.page(model, query);
    yield* rows;
    if (rows.length < PAGE) return;
    after = rows.at(-1)?.order;
  }
}
