import { expect } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { documentStream, recordStream } from '../../src/domain/events/streams.ts';
import {
  type CloudEvent,
  feedEventTypes,
  type StreamedEventType,
  toCloudEvent,
} from '../../src/modules/eventStream/cloudEvents.ts';
import { createDeidentifier } from '../../src/modules/eventStream/deidentification.ts';

export type Fields = Record<string, unknown>;

export const deidentify = createDeidentifier({ key: Buffer.alloc(32, 7), epoch: 1 });
export const pseudonym = expect.stringMatching(/^[\w-]{22}$/);

/**
 * The third event of a record or document of the workspace `clinic`, which holds these fields; of readiness, that of a type in the
 * log instead of a kind.
 */
export function recordedEventOf(
  kind: string,
  fields: Fields,
  recordedAt = '2026-03-14T09:30:15.250Z',
): RecordedEvent {
  const told = feedEventTypes.find((one) => one.kind === kind || one.logType === kind) as StreamedEventType;
  const stream =
    kind === 'document'
      ? documentStream('clinic', String(fields.encounter_id), String(fields.document_id))
      : recordStream('clinic', told.kind, String(fields.id));
  return {
    id: '019cebb7-54c0-7c1e-9b3a-5f0a6d2c8e41',
    type: told.logType,
    data: fields,
    metadata: { workspace: 'clinic', schemaVersion: 1, clientIp: '192.0.2.7' },
    stream,
    revision: 2,
    position: 42,
    recordedAt,
  } as unknown as RecordedEvent;
}

/** The same as an event of the stream, which names all of the fields as changed. */
export function cloudEventOf(kind: string, fields: Fields, recordedAt?: string): CloudEvent {
  const changed = Object.entries(fields).flatMap(([field, value]) =>
    typeof value === 'object' && value !== null
      ? Object.keys(value).map((inner) => `${field}.${inner}`)
      : [field],
  );
  const address = 'https://chartledger.example.com';
  return toCloudEvent(recordedEventOf(kind, fields, recordedAt), changed, address);
}

/** What the de-identified view shows of the fields of a record or document; of an insurance, those of the primary one. */
export function shownFields(kind: string, fields: Fields, recordedAt?: string): Fields {
  if (kind === 'insurance') {
    return shownFields('patient', { primary_insurance: fields }, recordedAt).primary_insurance as Fields;
  }
  return deidentify('clinic', cloudEventOf(kind, { id: 'record-1', ...fields }, recordedAt)).data.sent;
}
