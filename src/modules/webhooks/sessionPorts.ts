import type { DisclosureTerms } from '../../domain/events/disclosureTerms.ts';
import type { RecordedEvent } from '../../domain/events/event.ts';
import type { Shown } from '../../domain/events/shown.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ChangedFields } from '../eventStream/ChangedFields.ts';
import type { NotePorts } from './DeliveryNotes.ts';
import type { ErasedEvents } from './ErasedEvents.ts';
import type { MessagePorts } from './MessageDelivery.ts';
import type { Webhook } from './webhook.ts';

/** What a delivery works with. */
export interface SessionPorts extends MessagePorts, NotePorts {
  eventLog: EventLog;
  changedFields: ChangedFields;
  erased: Pick<ErasedEvents, 'look' | 'has'>;
  /** Records in the audit trail what was sent, and under which terms. */
  recordSent(
    webhook: Webhook,
    sent: Pick<Shown, 'ranges' | 'count'>,
    terms: DisclosureTerms | undefined,
  ): Promise<void>;
  /** Disables the webhook, by an event. */
  disable(webhook: Webhook, reason: 'gone' | 'failing'): Promise<void>;
  /** Called with an error that delays the delivery to a webhook. */
  onDelay(webhookId: string, error: unknown): void;
  /** Called with an event that is never delivered, because the log can no longer read it. */
  onUnreadable(webhookId: string, event: Pick<RecordedEvent, 'id' | 'position'>): void;
}
