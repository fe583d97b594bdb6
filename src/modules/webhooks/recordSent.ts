import type { DisclosureTerms } from '../../domain/events/disclosureTerms.ts';
import type { Shown } from '../../domain/events/shown.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { recordAccess } from '../audit/recordAccess.ts';
import { feedEventTypes } from '../eventStream/cloudEvent.ts';
import { serviceCaller } from './serviceCaller.ts';
import { wantedEventTypes } from './wantedEventTypes.ts';
import type { Webhook } from './webhook.ts';

/**
 * Records in the audit trail what was sent to a webhook under which terms, whether or not it was accepted. Rejects
 * with `unavailable`.
 */
export async function recordSent(
  eventLog: EventLog,
  webhook: Webhook,
  sent: Pick<Shown, 'ranges' | 'count'>,
  terms: DisclosureTerms | undefined,
): Promise<void> {
  const { id, payload } = webhook;
  const types = wantedEventTypes(webhook);
  await recordAccess(
    eventLog,
    { ...serviceCaller(webhook), disclosedTo: terms },
    {
      action: 'webhook.sent',
      webhook_id: id,
      shown: {
        ...sent,
        ...(types.size < feedEventTypes.length && { event_types: [...types] }),
        ...(payload !== 'full' && { view: payload }),
      },
    },
  );
}
