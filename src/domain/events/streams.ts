import type { RecordedEvent } from './event.ts';

/** Stream of all workspaces and API keys. It has no dot, so no workspace's prefix selects it. */
export const KEYS_STREAM = 'access';

/** Stream of the webhooks of all workspaces. It has no dot either. */
export const WEBHOOKS_STREAM = 'webhooks';

/** Stream of the users of the dashboard. It has no dot either. */
export const USERS_STREAM = 'users';

/** Every stream that holds events of several workspaces. All others begin with the workspace and a dot. */
export const sharedStreams: readonly string[] = [KEYS_STREAM, WEBHOOKS_STREAM, USERS_STREAM];

/**
 * Whether a stream holds the service's own notes, such as the progress of a webhook: it belongs to no history, tree or audit
 * trail.
 */
export function isBookkeeping(stream: string): boolean {
  return !stream.includes('.') && !sharedStreams.includes(stream);
}

/** Which of the service's keys came into use for the first time, or because the previous one was missing; bookkeeping. */
export const KEY_ADOPTIONS_STREAM = 'service-keys';

/** Id of a workspace. It is the prefix of its streams, so it has no dot. */
export const WORKSPACE_ID = /^[a-z0-9_]{2,40}$/;

/** Stands for the workspace in events that do not concern a single one, such as sign-ins; never a workspace's id. */
export const INSTALLATION = '*';

/**
 * The rule for whose an event is: whether an event whose metadata name `workspace` may be in a stream. The name of a stream states
 * its workspace; in a shared stream, where the name does not, the metadata do. An event that breaks the rule was not written by
 * the service, and belongs to nobody: a log reports it as unreadable.
 */
export function mayContain(stream: string, workspace: unknown): workspace is string {
  if (typeof workspace !== 'string') return false;
  if (stream === USERS_STREAM) return workspace === INSTALLATION;
  if (sharedStreams.includes(stream)) return WORKSPACE_ID.test(workspace);
  const dot = stream.indexOf('.');
  return dot === -1 || (dot === workspace.length && stream.startsWith(workspace));
}

/** Which of the service's keys were replaced, for the installation. */
export const KEY_ROTATIONS_STREAM = `${INSTALLATION}.key_rotations`;

/** `{workspace}.{kind}-{percent-encoded id}`; `id` must be well-formed Unicode. Different ids have different names. */
export function recordStream(workspace: string, kind: string, id: string): string {
  return `${workspace}.${kind}-${encodeURIComponent(id)}`;
}

/**
 * `{workspace}.document-{encounter}%2F{document}`. Each id is encoded before the pair is, so that `a/b` + `c` and
 * `a` + `b/c` differ.
 */
export function documentStream(workspace: string, encounterId: string, documentId: string): string {
  const pair = `${encodeURIComponent(encounterId)}/${encodeURIComponent(documentId)}`;
  return `${workspace}.document-${encodeURIComponent(pair)}`;
}

/** Who read what in a workspace on one day (`2026-11-21`, UTC). One stream per day keeps streams short. */
export function auditStream(workspace: string, day: string): string {
  return `${workspace}.audit-${day}`;
}

/** The legal holds of a workspace. */
export function holdsStream(workspace: string): string {
  return `${workspace}.holds`;
}

/** Which writes of an erased record were refused, and what was decided about them. */
export function returnStream(workspace: string, kind: string, id: string): string {
  return recordStream(workspace, 'return', `${kind}/${id}`);
}

/** Which patients of a workspace are VIPs, and what was concluded about access to its records. */
export function accessReviewStream(workspace: string): string {
  return `${workspace}.access_review`;
}

/** How the de-identified view of a workspace's events is made. */
export function deidentificationStream(workspace: string): string {
  return `${workspace}.deidentification`;
}

/** The sources of a workspace. */
export function sourcesStream(workspace: string): string {
  return `${workspace}.sources`;
}

/** A workspace's settings for the readiness rules. */
export function readinessStream(workspace: string): string {
  return `${workspace}.readiness`;
}

/** How many encounters of a workspace were ready at the end of each day. */
export function readinessCountsStream(workspace: string): string {
  return `${workspace}.readiness_counts`;
}

/**
 * An encounter's billing, in addition to the encounter's own stream: `{workspace}.readiness-{percent-encoded id}`. Erased with
 * the encounter. Code that folds it ignores event types that it does not look for.
 */
export function encounterReadinessStream(workspace: string, encounterId: string): string {
  return recordStream(workspace, 'readiness', encounterId);
}

/** What people stated about disclosures of a patient's data. Erased with the patient. */
export function disclosuresStream(workspace: string, patientId: string): string {
  return recordStream(workspace, 'disclosures', patientId);
}

/** Whether a stream is a `readinessStream` or an `encounterReadinessStream`. */
export function isReadinessStream(stream: string): boolean {
  return stream.startsWith('readiness', stream.indexOf('.') + 1);
}

/** A code set loaded for the whole installation, such as `nucc`. */
export function codeSetStream(set: string): string {
  return `${INSTALLATION}.code_set-${set}`;
}

/** Which authenticator app codes a user has used; only its end is read. */
export function totpStream(userId: string): string {
  return `${INSTALLATION}.totp-${userId}`;
}

/** The partition that lists one workspace's records of one kind. */
export function kindPartition(workspace: string, kind: string): string {
  return `${workspace}.${kind}`;
}

/** The partition that lists the record of a stream. */
export function partitionOfRecord(stream: string): string {
  // Neither workspaces nor kinds have a hyphen.
  return stream.slice(0, stream.indexOf('-'));
}

/** The workspace of a stream; for streams that are not shared. */
export function workspaceOfStream(stream: string): string {
  return stream.slice(0, stream.indexOf('.'));
}

/** The kind of the record or document of a stream. */
export function kindOfStream(stream: string): string {
  return stream.slice(stream.indexOf('.') + 1, stream.indexOf('-'));
}

/** The caller's id of the record of a stream. */
export function recordIdOf(stream: string): string {
  return decodeURIComponent(stream.slice(stream.indexOf('-') + 1));
}

/** The caller's ids of the document of a stream and of its encounter. */
export function documentIdsOf(stream: string): { encounterId: string; documentId: string } {
  const [encounterId = '', documentId = ''] = recordIdOf(stream).split('/').map(decodeURIComponent);
  return { encounterId, documentId };
}

/** The stream of the encounter to which a document stream belongs. */
export function encounterOfDocument(stream: string): string {
  return recordStream(workspaceOfStream(stream), 'encounter', documentIdsOf(stream).encounterId);
}

const ownerKinds: Readonly<Record<string, string>> = {
  document: 'encounter',
  readiness: 'encounter',
  disclosures: 'patient',
};

/** The kind of the record with which streams of a kind are erased; undefined where they are themselves of records. */
export function ownerKind(kind: string): string | undefined {
  return Object.hasOwn(ownerKinds, kind) ? ownerKinds[kind] : undefined;
}

/** The stream of the record with which a stream is erased; of a record, its own. */
export function ownerOfStream(stream: string): string {
  const kind = kindOfStream(stream);
  if (kind === 'document') return encounterOfDocument(stream);
  return recordStream(workspaceOfStream(stream), ownerKind(kind) ?? kind, recordIdOf(stream));
}

/**
 * The workspaces of the API keys and webhooks that the events of shared streams are about. Each belongs to the workspace of its
 * first event, and no event of another workspace may change it: the service never writes one.
 */
export class SubjectOwners {
  readonly #owners = new Map<string, string>();

  /** Takes the next event of a shared stream; returns false, and ignores it, if it is about a subject of another workspace. */
  take({ data, metadata: { workspace } }: RecordedEvent): boolean {
    const ids = subjectsOf(data);
    if (ids.some((id) => (this.#owners.get(id) ?? workspace) !== workspace)) return false;
    for (const id of ids) this.#owners.set(id, workspace);
    return true;
  }
}

/** An API key is identified by its id and by the hash that requests are matched with. */
function subjectsOf({ webhook_id, key_id, sha256, replacement }: RecordedEvent['data']): string[] {
  const { key_id: newId, sha256: newHash } = (replacement ?? {}) as RecordedEvent['data'];
  return [webhook_id, key_id, sha256, newId, newHash].filter((id) => typeof id === 'string');
}
