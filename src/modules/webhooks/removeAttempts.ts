import type { StateStore } from '../../storage/stateStore.ts';
import { attemptsTable } from './attempts.ts';

const PAGE = 500;

/**
 * Removes a webhook's attempts that concern events of a stream below a revision: a response may repeat what was sent. Can be repeated: those that
 * tell of the erasure itself, and of who uses the id again, stay.
 */
export async function removeAttempts(
  stateStore: StateStore,
  webhookId: string,
  stream: string,
  below: number,
): Promise<void> {
  for (let after = -1; ; ) {
    const rows = await stateStore.page(attemptsTable, { partition: webhookId, after, limit: PAGE });
    const told = rows.filter(({ body: { event } }) => event?.stream === stream && event.revision < below);
    const newest = Math.max(0, ...told.map(({ revision }) => revision));
    if (told.length > 0) {
      await stateStore.remove(
        attemptsTable,
        told.map(({ id }) => id),
        newest,
      );
    }
    const last = rows.at(-1);
    if (last === undefined || rows.length < PAGE) return;
    after = last.order;
  }
}
