import { isJsonObject } from '../../../domain/events/event.ts';
import type { MessageIndex } from './MessageIndex.ts';
import type { Reference } from './resources/dataTypes.ts';
import { referredBy } from './resources/references.ts';

/**
 * Returns the resource of the message to which another one, its `owner`, refers, as far as the index has it; undefined
 * where the message does not have it.
 */
export function referredResource(reference: Reference, owner: unknown, index: MessageIndex): unknown {
  const referred = referredBy(reference);
  switch (referred?.by) {
    case 'contained': {
      const inside = isJsonObject(owner) && Array.isArray(owner.contained) ? owner.contained : [];
      return inside.find((one) => isJsonObject(one) && one.id === referred.id);
    }
    case 'fullUrl':
      return index.referred(referred.url);
    case 'id':
      return index.referred(referred.url ?? '') ?? index.referred(`${referred.type}/${referred.id}`);
    default:
      return undefined;
  }
}
