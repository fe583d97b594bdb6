import { v5 as uuidv5 } from 'uuid';
import type { JsonObject, NewEvent } from '../../domain/events/event.ts';
import { newEvent } from '../../domain/events/newEvent.ts';

/** For ids that are derived from what is announced (RFC 9562, version 5). */
const NAMESPACE = 'b1f6a1de-5f0c-4b0e-9c53-6d2f6f6f9a50';

/**
 * Returns an event that the service appends on its own, in the request that led to it where there is one. Its id is
 * derived from `parts`: a repeat appends nothing.
 */
export function announcement(
  workspace: string,
  parts: readonly unknown[],
  requestId: string | undefined,
  type: string,
  data: JsonObject,
): NewEvent {
  const id = uuidv5(JSON.stringify(parts), NAMESPACE);
  const principal = { type: 'service', id: 'readiness' } as const;
  return { ...newEvent({ workspace, principal, requestId: requestId ?? id }, type, data), id };
}
