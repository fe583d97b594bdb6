import type { RecordedEvent } from '../../src/domain/events/event.ts';

/** An event of a payer as a log gives it, made up where a test says nothing of it. */
export function payerEvent({
  id = 'event-1',
  workspace = 'clinic',
  ...more
}: Pick<RecordedEvent, 'stream' | 'revision' | 'position' | 'data'> &
  Partial<RecordedEvent> & { workspace?: string }): RecordedEvent {
  return {
    id,
    type: 'PayerUpserted',
    recordedAt: new Date(0).toISOString(),
    metadata: {
      workspace,
      principal: { type: 'operator', id: 'test' },
      requestId: id,
      $correlationId: id,
      schemaVersion: 1,
    },
    ...more,
  };
}
