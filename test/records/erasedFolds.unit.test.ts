import { expect, test } from 'vitest';
import type { RecordedEvent } from '../../src/domain/events/event.ts';
import { evolveDocument } from '../../src/domain/records/document.ts';
import { evolveRecord } from '../../src/domain/records/fold.ts';

const event = (revision: number, type: string, data: object) =>
  ({
    ...{ revision, type, data, metadata: { schemaVersion: 1 } },
    recordedAt: `2026-03-1${revision}T09:00:00.000Z`,
  }) as unknown as RecordedEvent;

const tombstone = { part: 1, parts: 1, erased: [] };

test('what is left of a record or document is the same whether the erased events were folded or not', () => {
  const record = evolveRecord('payer', undefined, event(0, 'PayerUpserted', { id: 'a', name: 'Aetna' }));
  const recordErased = event(1, 'RecordErased', tombstone);
  expect(evolveRecord('payer', record, recordErased)).toEqual(evolveRecord('payer', undefined, recordErased));
  const document = evolveDocument(undefined, event(0, 'DocumentUploaded', { document_id: 'a' }));
  const documentErased = event(1, 'DocumentErased', tombstone);
  expect(evolveDocument(document, documentErased)).toEqual(evolveDocument(undefined, documentErased));
});
