import { describe, expect, test } from 'vitest';
import { type AuditEntry, anySignatureTest, signaturesOf } from '../../projections/auditAggregation.ts';
import type { DisclosedRange, DisclosedRecord } from '../../src/domain/events/payloads.ts';
import { type AccessedSubject, AccessIndex } from '../../src/modules/audit/accessIndex.ts';
import { accountedFrom } from '../../src/modules/audit/disclosures.ts';

const ERASED_AT = '2026-03-14T12:00:00.000Z';
const erasedBy = { position: 90, recordedAt: ERASED_AT };

/** A patient of two versions that were erased at position 90, and a document of an encounter. */
const patient: AccessedSubject = {
  kind: 'patient',
  id: 'p-1',
  versions: [
    { version: 1, position: 10, type: undefined, erasedBy },
    { version: 2, position: 20, type: undefined, erasedBy },
    { version: 3, position: 90, type: 'RecordErased' },
  ],
};
const document: AccessedSubject = {
  kind: 'document',
  id: 'e-1',
  documentId: 'd-1',
  versions: [{ version: 1, position: 30, type: 'DocumentUploaded' }],
};
const sightings = new AccessIndex([patient, document]);

function entry(action: string, more: Partial<AuditEntry> = {}): AuditEntry {
  return {
    position: 80,
    eventId: 'event',
    type: 'AccessRecorded',
    action,
    recordedAt: '2026-03-14T11:00:00.000Z',
    principal: { type: 'api_key', id: 'key_1' },
    ...more,
  };
}
const shown = (from: number, to: number, more: Partial<DisclosedRange> = {}): { shown: DisclosedRange } => ({
  shown: { ranges: [{ from, to }], ...more },
});
const seen = (one: AuditEntry) =>
  sightings.in(one).map(({ thing, versions }) => [thing.documentId ?? thing.id, versions]);

describe('an access shows', () => {
  test('what it names, unless it was refused', () => {
    expect(seen(entry('record.read', { kind: 'patient', id: 'p-1' }))).toEqual([['p-1', []]]);
    expect(seen(entry('document.list', { kind: 'document', id: 'e-1' }))).toEqual([['d-1', []]]);
    expect(seen(entry('document.download', { kind: 'document', id: 'e-1', documentId: 'd-2' }))).toEqual([]);
    expect(seen(entry('record.read', { kind: 'patient', id: 'p-1', code: 'not_found' }))).toEqual([]);
    expect(seen(entry('record.read', { kind: 'payer', id: 'p-1' }))).toEqual([]);
    expect(seen(entry('audit.read', { kind: 'patient', id: 'p-1' }))).toEqual([]);
  });

  test('the versions within its ranges, of the types that it was limited to', () => {
    expect(seen(entry('events.read', shown(15, 30)))).toEqual([
      ['p-1', [2]],
      ['d-1', [1]],
    ]);
    expect(seen(entry('events.read', shown(1, 70, { event_types: ['PatientUpserted'] })))).toEqual([
      ['p-1', [1, 2]],
    ]);
    expect(seen(entry('events.read', shown(1, 70, { event_types: ['PayerUpserted'] })))).toEqual([]);
  });

  test('of an export everything up to its entry, or only the range if what was written is counted', () => {
    expect(seen(entry('export', { position: 25, ...shown(1, 15) }))).toEqual([['p-1', [1, 2]]]);
    expect(seen(entry('export', { position: 25, ...shown(1, 15, { count: 1 }) }))).toEqual([['p-1', [1]]]);
    expect(seen(entry('export', { position: 25 }))).toEqual([]);
  });

  test('of a list the record of its kind that begins there', () => {
    expect(seen(entry('record.list', { kind: 'patient', ...shown(5, 15) }))).toEqual([['p-1', []]]);
    expect(seen(entry('record.list', { kind: 'patient', ...shown(15, 25) }))).toEqual([]);
    expect(seen(entry('record.list', { kind: 'payer', ...shown(5, 15) }))).toEqual([]);
  });

  test('of a search the things that it names', () => {
    const things = [
      { kind: 'patient', record_id: 'p-1' },
      { kind: 'document', record_id: 'e-1', document_id: 'd-1' },
      { kind: 'document', record_id: 'e-1', document_id: 'd-2' },
      { kind: 'payer', record_id: 'p-1' },
    ];
    const search = (shown: DisclosedRecord[]) =>
      seen(entry('record.search', { shown: { ranges: [], things: shown } }));
    expect(search(things)).toEqual([
      ['p-1', []],
      ['d-1', []],
    ]);
    expect(search([])).toEqual([]);
  });

  test('nothing of what was erased before, but what it was sent and is recorded later', () => {
    const later = { position: 100, recordedAt: '2026-03-14T12:00:30.000Z' };
    const muchLater = { position: 200, recordedAt: '2026-03-16T12:00:00.000Z' };
    expect(seen(entry('events.read', { ...later, ...shown(1, 25) }))).toEqual([]);
    expect(seen(entry('record.list', { ...later, kind: 'patient', ...shown(5, 15) }))).toEqual([]);
    expect(seen(entry('events.sent', { ...later, ...shown(1, 25) }))).toEqual([['p-1', [1, 2]]]);
    expect(seen(entry('webhook.sent', { ...muchLater, ...shown(1, 25) }))).toEqual([]);
    expect(seen(entry('webhook.sent', { ...muchLater, ...shown(1, 100) }))).toEqual([
      ['d-1', [1]],
      ['p-1', [3]],
    ]);
  });

  test('a tombstone where tombstones of its kind were wanted', () => {
    const toldFor = (event_types: string[]) =>
      seen(entry('events.read', { position: 200, ...shown(80, 100, { event_types }) }));
    expect(toldFor(['RecordErased/patient'])).toEqual([['p-1', [3]]]);
    expect(toldFor(['PatientUpserted', 'RecordErased'])).toEqual([['p-1', [3]]]);
    expect(toldFor(['PayerUpserted', 'RecordErased'])).toEqual([]);
    expect(toldFor(['PatientUpserted'])).toEqual([]);
  });
});

test('the index passes over what has none of the alternatives, and never over what has one', () => {
  const wanted = Array.from({ length: 500 }, (_, index) => ({ kind: 'patient', id: `p-${index}` }));
  const passes = anySignatureTest([...wanted, { action: 'export' }]);
  const entries = (...ids: string[]) =>
    signaturesOf(ids.map((id) => entry('record.read', { kind: 'patient', id })));
  expect(passes(entries('q-1', 'p-499', 'q-2'))).toBe(true);
  expect(passes(signaturesOf([entry('record.read'), entry('export')]))).toBe(true);
  expect(passes(entries('q-1', 'q-2'))).toBe(false);
  expect(passes(signaturesOf([entry('record.read', { kind: 'payer', id: 'p-1' })]))).toBe(false);
});

test('six years are never less, although there may be no 29 February', () => {
  expect(accountedFrom(new Date('2026-11-22T18:00:00Z'))).toBe('2020-11-22T00:00:00.000Z');
  expect(accountedFrom(new Date('2028-02-29T18:00:00Z'))).toBe('2022-02-28T00:00:00.000Z');
});
