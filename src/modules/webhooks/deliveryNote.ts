import { v7 as uuidv7 } from 'uuid';
import { z } from 'zod';
import type { NewEvent, Position } from '../../domain/events/event.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { Webhook } from './webhook.ts';

/**
 * What the log records from time to time about a webhook's delivery, in case the state store is lost: everything up
 * to `position` was delivered or given up, every request up to the revision `handled` was dealt with.
 */
export interface DeliveryNote {
  position: Position;
  handled: number;
}

const noteShape = z.object({ position: z.number(), handled: z.number() });

/** A stream of its own, of which only the last event is read: bookkeeping (`isBookkeeping`). */
function noteStream(webhookId: string): string {
  return `delivery-${webhookId}`;
}

/** Appends a note; resolves with its revision. Rejects with `unavailable`. */
export async function appendNote(
  eventLog: EventLog,
  { id, workspace }: Webhook,
  note: DeliveryNote,
): Promise<number> {
  const eventId = uuidv7();
  const event: NewEvent = {
    id: eventId,
    type: 'DeliveryNoted',
    data: { webhook_id: id, ...note },
    metadata: {
      workspace,
      principal: { type: 'service', id: 'webhooks' },
      requestId: eventId,
      $correlationId: eventId,
      schemaVersion: 1,
    },
  };
  return (await eventLog.append(noteStream(id), event, 'any')).revision;
}

/**
 * Resolves with the last note and its revision; undefined when there is none that can be read. Rejects with
 * `unavailable`.
 */
export async function readNote(
  eventLog: Pick<EventLog, 'readStream'>,
  webhookId: string,
): Promise<{ note: DeliveryNote; revision: number } | undefined> {
  const [event] = await eventLog.readStream(noteStream(webhookId), { direction: 'backwards', limit: 1 });
  const { data: note } = noteShape.safeParse(event?.data);
  return event && note && { note, revision: event.revision };
}
