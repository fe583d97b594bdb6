import type { ReadModels } from '../ports/readModels.ts';
import { deliveryModel, deliveryPartitions } from './DeliveryState.ts';

const PAGE = 500;
const ANY = Number.MAX_SAFE_INTEGER;

/** Removes how far the delivery of deleted webhooks had come. Can be repeated when it was cut off. */
export async function removeDelivery(readModels: ReadModels, webhookIds: string[]): Promise<void> {
  for (const id of await readModels.existing(deliveryModel, webhookIds)) {
    for (const partition of deliveryPartitions(id)) {
      for (let count = PAGE; count === PAGE; ) {
        const rows = await readModels.page(deliveryModel, { partition, limit: PAGE });
        await readModels.remove(
          deliveryModel,
          rows.map((row) => row.id),
          ANY,
        );
        count = rows.length;
      }
    }
    // Last: it tells that there is something to remove.
    await readModels.remove(deliveryModel, [id], ANY);
  }
}
