import { catalogEntry } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';

/** Returns the address of a workspace's records, below `/dashboard`; of one kind where it is given. */
export function recordsPath(workspace: string, kind?: string): string {
  const query = kind === undefined ? '' : `?kind=${catalogEntry(kind).plural}`;
  return `/workspaces/${workspace}/records${query}`;
}

/** Returns the address of the records of a kind that match a filter, below `/dashboard`. */
export function filteredPath(workspace: string, kind: string, filter: Record<string, string>): string {
  return `${recordsPath(workspace, kind)}&${new URLSearchParams(filter).toString()}`;
}

/** Returns the address of a record, below `/dashboard`. */
export function recordPath(workspace: string, kind: string, id: string): string {
  return `${recordsPath(workspace)}/${catalogEntry(kind).plural}/${encodeURIComponent(id)}`;
}

/** Returns the address of the versions of a record that changed a field, below `/dashboard`. */
export function fieldPath(workspace: string, kind: string, id: string, field: string): string {
  return `${recordPath(workspace, kind, id)}/fields/${encodeURIComponent(field)}`;
}

/** Returns the address of the timeline of a record and everything below it, below `/dashboard`. */
export function timelinePath(workspace: string, kind: string, id: string): string {
  return `${recordPath(workspace, kind, id)}/timeline`;
}

/** Returns the address of the signed proof of one version of a record, below `/dashboard`. */
export function proofPath(workspace: string, kind: string, id: string, version: number): string {
  return `${recordPath(workspace, kind, id)}/proof?version=${version}`;
}

/** Returns the address of the page that compares two versions of a record, below `/dashboard`. */
export function comparePath(workspace: string, kind: string, id: string, from: number, to: number): string {
  return `${recordPath(workspace, kind, id)}/compare?from=${from}&to=${to}`;
}

/**
 * Returns the address of the page that accepts changes made to an encounter after it was billed, below `/dashboard`.
 */
export function acknowledgePath(workspace: string, encounterId: string): string {
  return `${recordPath(workspace, encounter.kind, encounterId)}/billed/acknowledge`;
}

/** Returns the address of the page that erases a record, below `/dashboard`. */
export function erasePath(workspace: string, kind: string, id: string): string {
  return `${recordPath(workspace, kind, id)}/erase`;
}

/**
 * Returns the address of an encounter's documents, below `/dashboard`; of one document's history where it is given.
 */
export function documentsPath(workspace: string, encounterId: string, documentId?: string): string {
  const path = `${recordPath(workspace, encounter.kind, encounterId)}/documents`;
  return documentId === undefined ? path : `${path}/${encodeURIComponent(documentId)}`;
}

/** Returns the address of the report on to whom a patient's data went, below `/dashboard`. */
export function disclosuresPath(workspace: string, patientId: string): string {
  return `${recordPath(workspace, patient.kind, patientId)}/disclosures`;
}

/**
 * Returns the address of the audit trail's entries on who has seen a record, for a patient including everything below
 * it; below `/dashboard`.
 */
export function seenPath(workspace: string, kind: string, id: string): string {
  const query = new URLSearchParams({ kind, id, seen: kind === patient.kind ? 'all' : 'yes' });
  return `/workspaces/${workspace}/audit?${query.toString()}`;
}
