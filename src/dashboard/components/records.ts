import { z } from 'zod';
import type { DocumentView } from '../../domain/records/document.ts';
import { qualityWarnings } from '../../domain/records/fold.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { unwrapped } from '../../domain/records/schema/fields.ts';
import type { CatalogEntry, RecordFields } from '../../domain/records/schema/kind.ts';
import { type Hold, type Holding, heldParts } from '../../modules/erasure/holdState.ts';
import type { FieldLineage } from '../../modules/integrations/replay/lineage.ts';
import { rulesOf, type SourceFormat } from '../../modules/integrations/sources.ts';
import type { ListedDocument } from '../../modules/records/queries/documents.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import type { FieldMessage } from '../../platform/errors.ts';
import { fieldLabel, titleOf } from './labels.ts';
import { type Html, type HtmlValue, html, phiReaders, type Visit } from './page.ts';
import { definitionList, type TableColumn, table } from './tables.ts';
import { badge, bdi, code, dayText, empty, idBeside, time, writtenDate } from './text.ts';
import { documentsPath, holdsPath, recordPath } from './urls.ts';

/** Returns the banner on the pages of a record that legal holds protect; `kind` is the record's. */
export function heldBanner(
  { workspace, may }: Visit,
  kind: string,
  holding: Holding | undefined,
): Html | undefined {
  if (holding === undefined) return undefined;
  const found = heldParts(holding);
  const parts = found.map(
    ({ subject, holds }, place) =>
      html`${place > 0 && ', and '}${subject} under legal hold (${since(holds)})`,
  );
  const held = new Set(found.flatMap(({ holds }) => holds.flatMap(({ record }) => record?.id ?? [])));
  const path = holdsPath(workspace, { id: held.size === 1 ? [...held][0] : undefined });
  return html`<p class="banner"><strong>This ${kind} cannot be erased:</strong> ${parts}. ${
    may(phiReaders) && html`<a href="/dashboard${path}">Legal holds</a>`
  }</p>`;
}

function since(holds: readonly Hold[]): HtmlValue {
  const first = holds[0] as Hold;
  const count = holds.length > 1 && `${holds.length.toLocaleString('en-US')} holds, the first `;
  return html`${count}since ${time(first.added.at)}`;
}

/** Returns where in a message a field comes from, by which rule and setting of the source. */
export function originCell(
  format: SourceFormat,
  { at, rule, setting }: Pick<FieldLineage, 'at' | 'rule' | 'setting'>,
): Html {
  const found = rulesOf[format].find(({ name }) => name === rule);
  return html`${at === null ? html`<span class="muted">not from the message</span>` : code(at)}${
    found && html`<br><small class="muted">rule ${code(found.name)}: ${plain(found.from)}</small>`
  }${setting !== null && html`<br><small class="muted">source setting: ${code(setting)}</small>`}`;
}

/** Returns a text of the guides without its markup. */
function plain(text: string): string {
  return text.replaceAll(/\[([^\]]+)\]\([^)]+\)/g, '$1').replaceAll('`', '');
}

/** Returns a size in bytes, for people. */
export function fileSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  return bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

type FactColumns = TableColumn<Pick<DocumentView, 'category' | 'size' | 'version'>>[];

const factColumns: FactColumns = [
  { title: 'Category', cell: ({ category }) => fieldLabel(category) },
  { title: 'Size', isNumber: true, cell: ({ size }) => html`<span class="nowrap">${fileSize(size)}</span>` },
  { title: 'Version', isNumber: true, cell: ({ version }) => version },
];

interface DocumentTable {
  /** Default: Documents. */
  label?: string;
  /** They belong to several encounters, and this returns what each is called. */
  nameOf?(encounterId: string): string | undefined;
}

/** Returns documents, each with its history and its bytes; removed ones say when and by whom they were removed. */
export function documentTable(
  workspace: string,
  documents: readonly ListedDocument[],
  { label, nameOf }: DocumentTable = {},
): Html {
  const path = ({ encounter_id, document_id }: ListedDocument) =>
    `/dashboard${documentsPath(workspace, encounter_id, document_id)}`;
  const encounterColumn: TableColumn<ListedDocument> = {
    title: encounter.title,
    cell: ({ encounter_id: id }) => namedLink(workspace, encounter.kind, id, nameOf?.(id)),
  };
  const columns: TableColumn<ListedDocument>[] = [
    {
      title: 'Document',
      ...{ isHeader: true, isCut: true },
      cell: (one) =>
        html`<a href="${path(one)}" title="${one.filename}, ${one.document_id}" aria-label="${one.filename}, ${one.document_id}">${bdi(one.filename)}</a> ${idBeside(one.document_id)}`,
    },
    ...(nameOf ? [encounterColumn] : []),
    ...factColumns,
    { title: 'Last change', cell: lastChange },
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
  return html`<div class="dense">${table(label ?? 'Documents', columns, documents)}</div>`;
}

function lastChange({ updated_at, removed_by }: ListedDocument): Html {
  if (removed_by === undefined) return time(updated_at);
  return html`${badge('removed', 'bad')} ${time(updated_at)} <small title="${removed_by.name}">by ${bdi(removed_by.name ?? removed_by.id)}</small>`;
}

/** Returns an encounter's documents for paper, with what distinguishes a file from any other. */
export function printedDocuments(documents: readonly DocumentView[]): Html {
  const columns: TableColumn<DocumentView>[] = [
    {
      title: 'Document',
      isHeader: true,
      cell: ({ document_id, filename }) => html`${bdi(filename)}<br><small>${bdi(document_id)}</small>`,
    },
    ...factColumns,
    {
      title: 'Uploaded, SHA-256',
      cell: ({ updated_at, sha256 }) => html`${time(updated_at)}<br><code class="digest">${sha256}</code>`,
    },
  ];
  return documents.length === 0 ? empty('No documents.') : table('Documents', columns, documents);
}

/** Returns what replaces something of a kind that was erased. */
export function erasedBanner(kind: string, erasedAt: string): Html {
  return html`<p class="banner"><strong>This ${kind} was erased</strong> on ${time(erasedAt)}. Nothing that was sent about it can be read any more. Who erased it, when and why is kept.</p>`;
}

/** Returns a field's value for people; `null` means none. */
export function fieldValue(value: unknown): HtmlValue {
  if (value === null || value === undefined) return html`<span class="muted">none</span>`;
  if (value === '') return html`<span class="muted">empty text</span>`;
  if (typeof value === 'boolean') return value ? 'Yes' : 'No';
  const text = String(value);
  return writtenDate(text) ?? bdi(text);
}

/** Returns a link to a record by its name, or by its id where the name is not known; both show on hovering. */
export function recordLink(workspace: string, kind: string, id: string, name: string | undefined): Html {
  return html`<a href="/dashboard${recordPath(workspace, kind, id)}" title="${name === undefined ? id : `${name}, ${id}`}">${bdi(name ?? id)}</a>`;
}

/** The same, with the id beside the name. */
export function namedLink(workspace: string, kind: string, id: string, name: string | undefined): Html {
  return html`${recordLink(workspace, kind, id, name)}${name !== undefined && html` ${idBeside(id)}`}`;
}

/** Returns the day of an encounter, which people know it by among those of its patient; undefined where it is not known. */
export function dayOf(names: RecordNames | undefined, encounterId: string): string | undefined {
  const date = names?.fieldsOf(encounter.kind, encounterId)?.date_of_service;
  return typeof date === 'string' ? dayText(date) : undefined;
}

/** Returns the value of a field: one of a fixed set in words; of one that refers to a record, with a link to that. */
export function linkedValue(
  workspace: string,
  { schema, references }: CatalogEntry,
  field: string,
  value: unknown,
  names: RecordNames | undefined,
): HtmlValue {
  const kind = references.find((one) => one.field === field)?.kind;
  if (typeof value !== 'string') return fieldValue(value);
  if (kind !== undefined) return namedLink(workspace, kind, value, names?.nameOf(kind, value));
  const definition = schema.shape[field] as z.ZodType | undefined;
  const isChoice = definition !== undefined && unwrapped(definition) instanceof z.ZodEnum;
  return isChoice ? html`<span title="${value}">${titleOf(value)}</span>` : fieldValue(value);
}

interface FieldLinks {
  /** Names of what the record refers to. */
  names?: RecordNames | undefined;
  /** Returns the address of the history of a field, which is dotted inside an insurance; below `/dashboard`. */
  historyPath?(field: string): string;
}

/**
 * Returns a record's fields, without its id, in the order of the schema, insurances as groups of their own; what it refers to is
 * linked, and what billing is likely to refuse is noted next to the field.
 */
export function recordFields(
  workspace: string,
  entry: CatalogEntry,
  record: RecordFields,
  { names, historyPath }: FieldLinks = {},
): Html {
  const warnings = qualityWarnings(entry, record, record);
  const label = (field: string, path: string) => {
    const isReference = entry.references.some((one) => one.field === path);
    const text = fieldLabel(isReference ? field.replace(/_id$/, '') : field);
    return historyPath
      ? html`<a class="quiet-link" href="/dashboard${historyPath(path)}" title="History of this field">${text}</a>`
      : text;
  };
  const list = (fields: [string, unknown][], prefix = '') =>
    definitionList(
      fields.map(([field, value]) => {
        const name = prefix + field;
        return [
          label(field, name),
          html`${linkedValue(workspace, entry, name, value, names)}${remarks(warnings, name)}`,
        ];
      }),
    );
  const fields = Object.entries(record).filter(([field]) => field !== 'id');
  const groups = fields.filter(([, value]) => isGroup(value));
  return html`${warningCount(warnings)}
${list(fields.filter(([, value]) => !isGroup(value)))}
${groups.map(
  ([group, inner]) =>
    html`<section class="field-group"><h3>${fieldLabel(group)}</h3>${list(Object.entries(inner as object), `${group}.`)}</section>`,
)}`;
}

function isGroup(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function warningCount({ length }: FieldMessage[]): Html {
  const text =
    length === 1
      ? 'Billing is likely to refuse one value. It is marked below.'
      : `Billing is likely to refuse ${length} values. They are marked below.`;
  return html`${length > 0 && html`<p class="warning">${text}</p>`}`;
}

function remarks(warnings: FieldMessage[], field: string): Html[] {
  return warnings
    .filter((warning) => warning.field === field)
    .map(({ message }) => html`<small class="warning">Warning: ${message}</small>`);
}
