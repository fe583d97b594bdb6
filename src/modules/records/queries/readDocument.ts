import type { Readable } from 'node:stream';
import { documentsModel } from '../../../../projections/documents.ts';
import { erasureStep } from '../../../domain/events/recordErased.ts';
import { documentIdsOf, documentStream, recordStream } from '../../../domain/events/streamNames.ts';
import {
  type DocumentUploaded,
  type DocumentView,
  evolveDocument,
  type PresentDocument,
  uploadedBy,
  viewDocument,
} from '../../../domain/records/document.ts';
import { gone, notFound } from '../../../platform/errors.ts';
import { measurements } from '../../../platform/metrics/Measurements.ts';
import type { ByteRange, DocumentStore } from '../../../storage/documentStore.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import { checkedContent, checkedPart } from './checkedContent.ts';
import { foldStream } from './foldStream.ts';
import { type ListPage, readListPage } from './listPage.ts';
import type { PageRequest } from './page.ts';
import type { QueryPorts } from './readRecord.ts';

/** Resolves with a page of an encounter's documents, without removed ones. */
export async function listDocuments(
  ports: QueryPorts,
  workspace: string,
  encounterId: string,
  request: PageRequest,
): Promise<ListPage<DocumentView>> {
  const partition = recordStream(workspace, 'encounter', encounterId);
  const { page } = await readListPage(ports, documentsModel, partition, request, {
    fromBody: (state) => viewDocument(state as PresentDocument),
    async fromLog(stream) {
      const state = await foldStream(ports.eventLog, stream, evolveDocument);
      return state && !state.removed ? viewDocument(state) : undefined;
    },
    idOf: (stream) => documentIdsOf(stream).documentId,
  });
  return page;
}

const sent = measurements.counter('chartledger.document.io', { 'network.io.direction': 'transmit' });

/**
 * Resolves with the bytes that an upload left in the store, hashed on the way; of a part of them, only the length can be
 * checked.
 */
export async function readContent(
  store: DocumentStore,
  document: DocumentUploaded,
  range?: ByteRange,
): Promise<Readable> {
  const content = await store.get(document.object_id, range);
  content.once('end', () => sent.add(range ? range.end - range.start + 1 : document.size));
  return range ? checkedPart(content, document, range) : checkedContent(content, document);
}

/** Returns which part of a document is wanted; undefined for all of it. May throw. */
export type WantedPart = (document: DocumentUploaded, version: number) => ByteRange | undefined;

export interface DocumentContent {
  document: DocumentUploaded;
  version: number;
  content: Readable;
  /** The part of the document that the content is; undefined for all of it. */
  range: ByteRange | undefined;
}

/**
 * Resolves with a document's latest bytes as named by the log, hashed on the way (`checkedContent`); rejects with
 * `not_found` when there is none or it was removed, with `gone` when it was erased.
 */
export async function readDocument(
  eventLog: EventLog,
  store: DocumentStore,
  workspace: string,
  encounterId: string,
  documentId: string,
  wantedPart: WantedPart = () => undefined,
): Promise<DocumentContent> {
  const stream = documentStream(workspace, encounterId, documentId);
  const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  if (last && erasureStep(last) === 'done') throw gone('Document', last.recordedAt);
  if (last?.type !== 'DocumentUploaded') throw notFound('Document');
  const document = uploadedBy(last);
  const version = last.revision + 1;
  const range = wantedPart(document, version);
  return { document, version, range, content: await readContent(store, document, range) };
}
