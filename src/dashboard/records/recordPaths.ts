import { catalogEntry } from '../../records/catalog.ts';
import { encounter } from '../../records/kinds/encounter.ts';
import { patient } from '../../records/kinds/patient.ts';

/** The address of a workspace's records, below `/dashboard`; those of one kind where it is named. */
export function recordsPath(workspace: string, kind?: string): string {
  const query = kind === undefined ? '' : `?kind=${catalogEntry(kind).plural}`;
  return `/workspaces/${workspace}/records${query}`;
}

/** The address of the records of a kind that a filter leaves, below `/dashboard`. */
export function filteredPath(workspace: string, kind: string, filter: Record<string, string>): string {
  return `${recordsPath(workspace, kind)}&${new URLSearchParams(filter).toString()}`;
}

/** The address of a record, below `/dashboard`. */
export function recordPath(workspace: string, kind: string, id: string): string {
  return `${recordsPath(workspace)}/${catalogEntry(kind).plural}/${encodeURIComponent(id)}`;
}

/** The address of the versions of a record that changed a field, below `/dashboard`. */
export function fieldPath(workspace: string, kind: string, id: string, field: string): string {
  return `${recordPath(workspace, kind, id)}/fields/${encodeURIComponent(field)}`;
}

/** The address of the timeline of a record and everything below it, below `/dashboard`. */
export function timelinePath(workspace: string, kind: string, id: string): string {
  return `${recordPath(workspace, kind, id)}/timeline`;
}

/** The address of the signed proof of one version of a record, below `/dashboard`. */
export function proofPath(workspace: string, kind: string, id: string, version: number): string {
  return `${recordPath(workspace, kind, id)}/proof?version=${version}`;
}

/** The address of the page that compares two versions of a record, below `/dashboard`. */
export function comparePath(workspace: string, kind: string, id: string, from: number, to: number): string {
  return `${recordPath(workspace, kind, id)}/compare?from=${from}&to=${to}`;
}

/** The address of the page that lets the changes of an encounter stay that were made after it was billed, below `/dashboard`. */
export function acknowledgePath(workspace: string, encounterId: string): string {
  return `${recordPath(workspace, encounter.kind, encounterId)}/billed/acknowledge`;
}

/** The address of the page that erases a record, below `/dashboard`. */
export function erasePath(workspace: string, kind: string, id: string): string {
  return `${recordPath(workspace, kind, id)}/erase`;
}

/** The address of an encounter's documents, below `/dashboard`; that of one document's history where it is named. */
export function documentsPath(workspace: string, encounterId: string, documentId?: string): string {
  const path = `${recordPath(workspace, encounter.kind, encounterId)}/documents`;
  return documentId === undefined ? path : `${path}/${encodeURIComponent(documentId)}`;
}

/** The address of the report of to whom data of a patient went, below `/dashboard`. */
export function disclosuresPath(workspace: string, patientId: string): string {
  return `${recordPath(workspace, patient.kind, patientId)}/disclosures`;
}

/** The address of the audit trail's entries by which somebody has seen a record, of a patient also all below it; below `/dashboard`. */
export function seenPath(workspace: string, kind: string, id: string): string {
  const query = new URLSearchParams({ kind, id, seen: kind === patient.kind ? 'all' : 'yes' });
  return `/workspaces/${workspace}/audit?${query.toString()}`;
}
