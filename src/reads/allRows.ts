import type { ModelName, ReadModels, Row } from '../ports/readModels.ts';

const PAGE = 500;

/**
 * All rows of a partition in the order of creation, a page at a time. Those of events that the read model had when the iteration
 * began are among them; who needs what was acknowledged just now waits for it first (`caughtUp`). Rejects with `unavailable`.
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
