import { catalogEntry } from '../../domain/records/catalog.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { permissionsOf } from '../../modules/auth/users.ts';
import type { WebhookCaller } from '../../modules/webhooks/settings.ts';
import type { Visit } from './page.ts';

/** The menu's entry. */
export const eventsSection = 'Events';

/** Returns the address of a workspace's newest events, below `/dashboard`; `limits` are its query parameters. */
export function eventsPath(workspace: string, limits: Record<string, string | undefined> = {}): string {
  return `/workspaces/${workspace}/events${queryOf(limits)}`;
}

/** Returns the address of the events after a position, as a part of that page, below `/dashboard`. */
export function newsPath(workspace: string, kind: string | undefined, after: string): string {
  return `/workspaces/${workspace}/events/news${queryOf({ kind, after })}`;
}

function queryOf(limits: Record<string, string | undefined>): string {
  const sent = Object.entries(limits).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return sent.length === 0 ? '' : `?${new URLSearchParams(sent).toString()}`;
}

/** Returns the address of a download as a ZIP with its signed manifest. */
export function signedPath(download: string): string {
  return `${download}${download.includes('?') ? '&' : '?'}signed=yes`;
}

/** Returns the address of the page that asks why the user reads in a workspace, and leads on to `next`, which includes `/dashboard`. */
export function reasonPath(workspace: string, next?: string): string {
  return `/workspaces/${workspace}/reason${queryOf({ next })}`;
}

/** Returns the address of a workspace's records, below `/dashboard`; of one kind where it is given. */
export function recordsPath(workspace: string, kind?: string): string {
  const query = kind === undefined ? '' : `?kind=${catalogEntry(kind).plural}`;
  return `/workspaces/${workspace}/records${query}`;
}

/** Returns the address of the records of a kind that match a filter, below `/dashboard`. */
export function filteredPath(workspace: string, kind: string, filter: Record<string, string>): string {
  const query = new URLSearchParams(filter).toString();
  return `${recordsPath(workspace, kind)}${query && `&${query}`}`;
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

/** Returns the address of the encounters of a patient, below `/dashboard`. */
export function encountersPath(workspace: string, patientId: string): string {
  return `${recordPath(workspace, patient.kind, patientId)}/encounters`;
}

/** Returns the address of the documents of all encounters of a patient, below `/dashboard`. */
export function patientDocumentsPath(workspace: string, patientId: string): string {
  return `${recordPath(workspace, patient.kind, patientId)}/documents`;
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

/**
 * Returns the address of the page that answers a finding, below `/dashboard`; `list` is the query of the worklist to which it
 * leads back, otherwise to the encounter; `after`: where an answer to all encounters continues.
 */
export function answerPath(
  workspace: string,
  encounterId: string,
  { rule, kind, id }: { rule: string; kind: string; id: string },
  { list, after }: { list?: string | undefined; after?: string | undefined } = {},
): string {
  const query = queryOf({ rule, kind, record_id: id, list, after });
  return `${recordPath(workspace, encounter.kind, encounterId)}/readiness/answer${query}`;
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

/** Returns the address of the copy for a patient, below `/dashboard`. */
export function copyPath(workspace: string, patientId: string): string {
  return `${recordPath(workspace, patient.kind, patientId)}/copy`;
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

/** The entry of the menu. */
export const holdsSection = 'Legal holds';

/** Returns the address of a workspace's legal holds, below `/dashboard`, limited by a filter. */
export function holdsPath(workspace: string, filter: Record<string, string | undefined> = {}): string {
  return `/workspaces/${workspace}/holds${queryOf(filter)}`;
}

/** The entry of the menu. */
export const returnedSection = 'Returned records';

/** Returns the address of the list of records that were sent again after their erasure, below `/dashboard`. */
export function returnedPath(workspace: string): string {
  return `/workspaces/${workspace}/returned`;
}

/** Returns the address of the page that places a record under legal hold, below `/dashboard`. */
export function recordHoldPath(workspace: string, kind: string, id: string): string {
  return `${recordPath(workspace, kind, id)}/hold`;
}

/** What may limit the list of messages in its address. */
export type MessageLimits = Partial<
  Record<'rejected' | 'source' | 'control_id' | 'range' | 'page_token', string>
>;

/** The entry of the menu. */
export const messagesSection = 'Messages';

/**
 * Returns the address of the messages that EMRs sent to a workspace, below `/dashboard`; of those within limits where
 * some are given.
 */
export function messagesPath(workspace: string, limits: MessageLimits = {}): string {
  const query = new URLSearchParams(limits).toString();
  return `/workspaces/${workspace}/messages${query && `?${query}`}`;
}

/** Returns the address of the page of one of them, below `/dashboard`. */
export function messagePath(workspace: string, id: string): string {
  return `${messagesPath(workspace)}/${encodeURIComponent(id)}`;
}

/** Returns the page of a workspace's simulations, below `/dashboard`, as used in links. */
export function simulationPath(workspace: string): string {
  return `/dashboard/workspaces/${workspace}/readiness/simulation`;
}

/** Returns the page of its scorecards. */
export function scorecardPath(workspace: string): string {
  return `/dashboard/workspaces/${workspace}/readiness/scorecard`;
}

/** The entry of the menu. */
export const readinessSection = 'Readiness';

/** Returns the address of a workspace's worklist, or of its export, within limits. */
export function worklistPath(
  workspace: string,
  limits: Record<string, string> = {},
  part: '' | '/export' = '',
): string {
  const query = new URLSearchParams(limits).toString();
  return `/dashboard/workspaces/${workspace}/readiness${part}${query && `?${query}`}`;
}

/** Full addresses of the reference. */
export const referencePath = '/dashboard/reference';

export function operationPath(operationId: string): string {
  return `${referencePath}/operations/${operationId}`;
}

export function schemaPath(name: string): string {
  return `${referencePath}/schemas/${name}`;
}

/** Returns the address of an error response that operations share. */
export function errorPath(name: string): string {
  return `${referencePath}/errors#response-${name}`;
}

/** Returns the address of a message that is sent to webhooks. */
export function referenceMessagePath(operationId: string): string {
  return `${referencePath}/messages#${operationId}`;
}

/** Returns the full address of a document by its name (`guides/import`), or of a heading of it. */
export function docPath(name: string, anchor?: string): string {
  return `/dashboard/docs/${name}${anchor === undefined ? '' : `#${anchor}`}`;
}

/** What may limit the list of refused requests in its address. */
export type RequestLimits = Partial<
  Record<'code' | 'key' | 'status' | 'field' | 'request_id' | 'outcome' | 'from' | 'to', string>
>;

/** The entry of the menu. */
export const requestsSection = 'Requests';

/**
 * Returns the address of a workspace's refused requests, below `/dashboard`; of those within limits where some are
 * given.
 */
export function requestsPath(workspace: string, limits: RequestLimits = {}): string {
  const query = new URLSearchParams(limits).toString();
  return `/workspaces/${workspace}/requests${query && `?${query}`}`;
}

/** Returns the address of the page of one of them, below `/dashboard`. */
export function requestPath(workspace: string, requestId: string): string {
  return `${requestsPath(workspace)}/${encodeURIComponent(requestId)}`;
}

/** The entry of the menu. */
export const sourcesSection = 'Sources';

/** Returns the address of a workspace's sources, below `/dashboard`. */
export function sourcesPath(workspace: string): string {
  return `/workspaces/${workspace}/sources`;
}

/** Returns the address of an operation on one of them, below `/dashboard`. */
export function sourcePath(workspace: string, id: string, action: 'edit' | 'remove'): string {
  return `${sourcesPath(workspace)}/${id}/${action}`;
}

export const webhooksSection = 'Webhooks';

/** Returns the address of a workspace's webhooks, below `/dashboard`. */
export function webhooksPath(workspace: string): string {
  return `/workspaces/${workspace}/webhooks`;
}

/** Returns the address where a consumer is removed, below `/dashboard`. */
export function consumerRemovalPath(workspace: string, name: string): string {
  return `/workspaces/${workspace}/consumers/${name}/remove`;
}

/** Returns the address of one webhook, below `/dashboard`. */
export function webhookPath(workspace: string, id: string): string {
  return `${webhooksPath(workspace)}/${id}`;
}

/** Returns the webhook that a path names. */
export function webhookId({ req }: Visit): string {
  return String(req.params.id);
}

/** Returns the user who works with webhooks: integrators only with those that send no patient data. */
export function webhookCaller({ caller, role }: Visit): WebhookCaller {
  return { ...caller, permissions: role === undefined ? [] : permissionsOf[role] };
}
