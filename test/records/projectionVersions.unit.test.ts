import { expect, test } from 'vitest';
import { projections } from '../../projections/index.ts';
import { modelName } from '../../projections/projection.ts';
import { catalog } from '../../src/domain/records/catalog.ts';

const records = [
  'EncounterUpserted',
  'FacilityUpserted',
  'PatientUpserted',
  'PayerUpserted',
  'ProviderUpserted',
];
const documents = ['DocumentRemoved', 'DocumentUploaded'];
const erasedDocuments = ['DocumentErased', ...documents];
const addedRecords = catalog.map(({ eventType }) => eventType).filter((type) => !records.includes(type));
const all = [...erasedDocuments, 'RecordErased', ...records, ...addedRecords].sort();
const versionOfRecords = 1 + addedRecords.length;

/**
 * What read models were built from under their names. One that is to take events of another type gets a new version: the
 * log may hold such events already, written by a newer version of the service while an earlier one projected.
 */
const frozen: Record<string, string[]> = {
  [`records_v${versionOfRecords}`]: [...records, ...addedRecords].sort(),
  documents_v1: documents,
  [`timeline_v${versionOfRecords}`]: [...documents, ...records, ...addedRecords].sort(),
  [`records_v${1 + versionOfRecords}`]: ['RecordErased', ...records, ...addedRecords].sort(),
  [`records_v${2 + versionOfRecords}`]: ['RecordErased', ...records, ...addedRecords].sort(),
  [`records_v${3 + versionOfRecords}`]: ['RecordErased', ...records, ...addedRecords].sort(),
  [`records_v${4 + versionOfRecords}`]: ['RecordErased', ...records, ...addedRecords].sort(),
  [`records_v${5 + versionOfRecords}`]: ['RecordErased', ...records, ...addedRecords].sort(),
  [`records_v${6 + versionOfRecords}`]: ['RecordErased', ...records, ...addedRecords].sort(),
  [`records_v${7 + versionOfRecords}`]: ['RecordErased', ...records, ...addedRecords].sort(),
  documents_v2: erasedDocuments,
  documents_v3: erasedDocuments,
  encounters_v1: ['EncounterUpserted', 'RecordErased'],
  encounters_v2: ['EncounterUpserted', 'RecordErased'],
  [`search_v${versionOfRecords}`]: all,
  [`search_v${1 + versionOfRecords}`]: all,
  [`search_v${2 + versionOfRecords}`]: erasedDocuments,
  [`timeline_v${1 + versionOfRecords}`]: all,
  [`timeline_v${2 + versionOfRecords}`]: all,
};

test.each(Object.entries(frozen))('%s takes the types of events that it always took', (name, types) => {
  const projection = projections.find((one) => modelName(one) === name);
  if (projection) expect(projection.eventTypes?.toSorted()).toEqual(types);
});

test('whatever is not held to a list takes every event', () => {
  const others = projections.filter((one) => frozen[modelName(one)] === undefined);
  expect(others.map(({ eventTypes }) => eventTypes)).toEqual(others.map(() => undefined));
});
