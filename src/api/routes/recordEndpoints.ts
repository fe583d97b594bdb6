import type { CatalogEntry } from '../../domain/records/catalog.ts';
import { listRecords } from './listRecords.ts';
import { patchRecord } from './patchRecord.ts';
import { readRecord } from './readRecord.ts';
import { readRecordHistory } from './readRecordHistory.ts';
import { readRecordProof } from './readRecordProof.ts';
import { upsertRecord } from './upsertRecord.ts';

/** The endpoints of a kind of record. */
export const recordEndpoints = (entry: CatalogEntry) => [
  upsertRecord(entry),
  patchRecord(entry),
  listRecords(entry),
  readRecord(entry),
  readRecordHistory(entry),
  readRecordProof(entry),
];
