import type { Connection } from './Connection.ts';
import type { components, paths } from './generated/api.ts';
import { type List, readPages } from './readPages.ts';
import type {
  CallOptions,
  Document,
  DocumentRemoved,
  DocumentUploaded,
  DocumentVersion,
  ReadQuery,
  WriteOptions,
} from './types.ts';
import { writeParts } from './writeParts.ts';

const path = '/integration/encounters/{id}/documents' satisfies keyof paths;
const unhurried = { timeoutSeconds: Number.POSITIVE_INFINITY };

/** A document and its file, a PDF or DOCX: a `File`, or a `Blob` with a `filename`. */
export interface Upload extends Omit<components['schemas']['DocumentUpload'], 'file'> {
  file: Blob;
  filename?: string;
}

/** The documents of encounters. */
export class Documents {
  readonly #connection: Connection;

  constructor(connection: Connection) {
    this.#connection = connection;
  }

  /** Stores a document, in place of the encounter's earlier one of that id. Rejects with `not_found` without the encounter. */
  upload(encounterId: string, upload: Upload, options: WriteOptions = {}): Promise<DocumentUploaded> {
    const { file, filename, document_id, category } = upload;
    const { headers, call } = writeParts(options);
    return this.#connection.call(
      (api) =>
        api.POST(path, {
          params: { path: { id: encounterId } },
          headers,
          body: { file: '', document_id, category },
          bodySerializer() {
            const form = new FormData();
            form.append('document_id', document_id);
            form.append('category', category);
            if (filename === undefined) form.append('file', file);
            else form.append('file', file, filename);
            return form;
          },
        }),
      { ...unhurried, ...call },
    );
  }

  /** All documents of an encounter. Rejects at the end with the code `unreadable` where the service could not read some of them. */
  list(encounterId: string, options: CallOptions = {}): List<Document> {
    return readPages(
      this.#connection,
      (api, query) => api.GET(path, { params: { path: { id: encounterId }, query } }),
      options,
    );
  }

  /** The file of a document, as it is or was. A stream that breaks off is not taken up again. */
  async download(
    encounterId: string,
    documentId: string,
    { signal, ...query }: CallOptions & ReadQuery = {},
  ): Promise<ReadableStream<Uint8Array>> {
    const file = await this.#connection.call(
      (api) =>
        api.GET(`${path}/{documentId}`, {
          params: { path: { id: encounterId, documentId }, query },
          parseAs: 'stream',
        }),
      { ...unhurried, signal },
    );
    return file as ReadableStream<Uint8Array>;
  }

  /** Removes a document. Rejects with the code `not_found`. */
  remove(encounterId: string, documentId: string, options: WriteOptions = {}): Promise<DocumentRemoved> {
    const { headers, call } = writeParts(options);
    return this.#connection.call(
      (api) =>
        api.DELETE(`${path}/{documentId}`, { params: { path: { id: encounterId, documentId } }, headers }),
      call,
    );
  }

  /** Every version of a document, newest first. Rejects with the code `not_found`. */
  history(encounterId: string, documentId: string, options: CallOptions = {}): List<DocumentVersion> {
    return readPages(
      this.#connection,
      (api, query) =>
        api.GET(`${path}/{documentId}/history`, {
          params: { path: { id: encounterId, documentId }, query },
        }),
      options,
    );
  }
}
