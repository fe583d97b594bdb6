import { currentVersion } from '../../domain/events/upcast.ts';
import { type CloudEvent, toCloudEvent } from '../../modules/eventStream/cloudEvent.ts';
import { exampleAddress, exampleRequestId } from '../schemas/examples.ts';

const workspace = 'clinic';
const sent = { id: 'payer-aetna', name: 'Aetna', state: 'CT' };

/** An event as subscribers receive it. */
export const eventExample: CloudEvent = toCloudEvent(
  {
    id: exampleRequestId,
    type: 'PayerUpserted',
    stream: `${workspace}.payer-${sent.id}`,
    revision: 1,
    position: 8_136,
    recordedAt: '2026-03-14T09:30:00.000Z',
    data: sent,
    metadata: {
      workspace,
      principal: { type: 'api_key', id: 'key_1' },
      requestId: exampleRequestId,
      $correlationId: exampleRequestId,
      schemaVersion: currentVersion('PayerUpserted'),
    },
  },
  ['state'],
  exampleAddress,
);
