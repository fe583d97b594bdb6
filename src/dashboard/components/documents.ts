import type { DocumentView } from '../../domain/records/document.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import type { ListedDocument } from '../../modules/records/queries/latestDocuments.ts';
import { type Html, html } from './html.ts';
import { who } from './principal.ts';
import { documentsPath, recordPath } from './recordPaths.ts';
import { type TableColumn, table } from './table.ts';
import { badge, code, empty, time } from './text.ts';

/** Returns a size in bytes, for people. */
export function fileSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

type FactColumns = TableColumn<Pick<DocumentView, 'category' | 'size' | 'version'>>[];

const facts: FactColumns = [
  { title: 'Category', cell: ({ category }) => category },
  { title: 'Size', cell: ({ size }) => html`<span class="nowrap">${fileSize(size)}</span>` },
  { title: 'Version', cell: ({ version }) => version },
];

interface DocumentTable {
  /** Default: Documents. */
  label?: string;
  /** They belong to several encounters. */
  isOfSeveral?: boolean;
}

/** Returns documents, each with its history and its bytes; removed ones say when and by whom they were removed. */
export function documentTable(
  workspace: string,
  documents: readonly ListedDocument[],
  { label, isOfSeveral = false }: DocumentTable = {},
): Html {
  const path = ({ encounter_id, document_id }: ListedDocument) =>
    `/dashboard${documentsPath(workspace, encounter_id, document_id)}`;
  const encounterColumn: TableColumn<ListedDocument> = {
    title: encounter.title,
    cell: ({ encounter_id: id }) =>
      html`<a href="/dashboard${recordPath(workspace, encounter.kind, id)}">${id}</a>`,
  };
  const columns: TableColumn<ListedDocument>[] = [
    {
      title: 'Document',
      isHeader: true,
      cell: (one) =>
        html`<a href="${path(one)}">${one.document_id}</a><br><small class="muted">${one.filename}</small>`,
    },
    { title: 'Last change', cell: lastChange },
    ...(isOfSeveral ? [encounterColumn] : []),
    ...facts,
    {
      title: 'Download',
      isTitleHidden: true,
      cell: (one) =>
        !one.removed_by &&
        html`<a href="${path(one)}/download" aria-label="Download ${one.document_id}">Download</a>`,
    },
  ];
  if (documents.length === 0) {
    return empty(
      html`No documents. Systems send them with ${code('POST /integration/encounters/{id}/documents')}.`,
    );
  }
  return table(label ?? 'Documents', columns, documents);
}

function lastChange({ updated_at, removed_by }: ListedDocument): Html {
  if (removed_by === undefined) return time(updated_at);
  return html`${badge('removed', 'bad')} ${time(updated_at)}<br><small>by ${who(removed_by)}</small>`;
}

/** Returns an encounter's documents for paper, with what distinguishes a file from any other. */
export function printedDocuments(documents: readonly DocumentView[]): Html {
  const columns: TableColumn<DocumentView>[] = [
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
  return documents.length === 0 ? empty('No documents.') : table('Documents', columns, documents);
}
