import type { StateStore } from '../../storage/stateStore.ts';
import { deliveryPartitions, deliveryTable, loadPositions } from './deliveryTable.ts';

const PAGE = 500;
const ANY = Number.MAX_SAFE_INTEGER;

/** Removes the delivery state of deleted webhooks. Can be repeated if interrupted. */
export async function removeDelivery(stateStore: StateStore, webhookIds: string[]): Promise<void> {
  for (const id of (await loadPositions(stateStore, webhookIds)).keys()) {
    for (const partition of deliveryPartitions(id)) {
      for (let count = PAGE; count === PAGE; ) {
        const rows = await stateStore.page(deliveryTable, { partition, limit: PAGE });
        await stateStore.remove(
          deliveryTable,
          rows.map((row) => row.id),
          ANY,
        );
        count = rows.length;
      }
    }
    // Last: its presence shows that there is something to remove.
    await stateStore.remove(deliveryTable, [id], ANY);
  }
}
