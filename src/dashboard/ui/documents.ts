import type { DocumentView } from '../../records/document.ts';
import { documentsPath } from '../records/recordPaths.ts';
import { type Html, html } from '../shell/html.ts';
import { type TableColumn, table } from './table.ts';
import { empty, time } from './text.ts';

/** Bytes, as people read them. */
export function fileSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

type Columns = TableColumn<DocumentView>[];

const facts: Columns = [
  { title: 'Category', cell: ({ category }) => category },
  { title: 'Size', cell: ({ size }) => html`<span class="nowrap">${fileSize(size)}</span>` },
  { title: 'Version', cell: ({ version }) => version },
];

/** An encounter's documents, each with its history and its bytes. */
export function documentTable(
  workspace: string,
  encounterId: string,
  documents: readonly DocumentView[],
): Html {
  const path = (id: string) => `/dashboard${documentsPath(workspace, encounterId, id)}`;
  const columns: Columns = [
    {
      title: 'Document',
      isHeader: true,
      cell: ({ document_id: id, filename }) =>
        html`<a href="${path(id)}">${id}</a><br><small class="muted">${filename}</small>`,
    },
    ...facts,
    {
      title: 'Download',
      isTitleHidden: true,
      cell: ({ document_id: id }) =>
        html`<a href="${path(id)}/download" aria-label="Download ${id}">Download</a>`,
    },
  ];
  return listed(columns, documents);
}

/** An encounter's documents for paper, with what tells a file from any other. */
export function printedDocuments(documents: readonly DocumentView[]): Html {
  const columns: Columns = [
    {
      title: 'Document',
      isHeader: true,
      cell: ({ document_id, filename }) => html`${document_id}<br><small>${filename}</small>`,
    },
    ...facts,
    {
      title: 'Uploaded, SHA-256',
      cell: ({ updated_at, sha256 }) => html`${time(updated_at)}<br><code class="digest">${sha256}</code>`,
    },
  ];
  return listed(columns, documents);
}

function listed(columns: Columns, documents: readonly DocumentView[]): Html {
  return documents.length === 0 ? empty('There are no documents.') : table('Documents', columns, documents);
}
