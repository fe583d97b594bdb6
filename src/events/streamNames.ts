/** Stream of all workspaces and API keys. It has no dot, so no workspace's prefix selects it. */
export const KEYS_STREAM = 'access';

/** Stream of the webhooks of all workspaces. It has no dot either. */
export const WEBHOOKS_STREAM = 'webhooks';

/** Stream of the users of the dashboard. It has no dot either. */
export const USERS_STREAM = 'users';

/** Every stream that holds events of several workspaces. All others begin with the workspace and a dot. */
export const sharedStreams: readonly string[] = [KEYS_STREAM, WEBHOOKS_STREAM, USERS_STREAM];

/**
 * Whether a stream holds what the service notes for itself, such as how far a webhook has come: it belongs to no history,
 * tree or audit trail.
 */
export function isBookkeeping(stream: string): boolean {
  return !stream.includes('.') && !sharedStreams.includes(stream);
}

/** Which keys of the service came into use for the first time, or for lack of the one before; it is bookkeeping. */
export const KEY_ADOPTIONS_STREAM = 'service-keys';

/** Id of a workspace: it is the prefix of its streams, so it has no dot. */
export const WORKSPACE_ID = /^[a-z0-9_]{2,40}$/;

/** Stands for the workspace in events that concern no single one, such as sign-ins; never the id of a workspace. */
export const INSTALLATION = '*';

/** Which keys of the service were replaced, of the installation. */
export const KEY_ROTATIONS_STREAM = `${INSTALLATION}.key_rotations`;

/** `{workspace}.{kind}-{percent-encoded id}`; `id` must be well-formed Unicode. Different ids give different names. */
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

/** Who read what in a workspace on one day (`2026-11-21`, UTC). A stream a day keeps streams short. */
export function auditStream(workspace: string, day: string): string {
  return `${workspace}.audit-${day}`;
}

/** The legal holds of a workspace. */
export function holdsStream(workspace: string): string {
  return `${workspace}.holds`;
}

/** The sources of a workspace. */
export function sourcesStream(workspace: string): string {
  return `${workspace}.sources`;
}

/** What a workspace has set of the rules of readiness. */
export function readinessStream(workspace: string): string {
  return `${workspace}.readiness`;
}

/** How many encounters of a workspace were ready at the end of each day. */
export function readinessCountsStream(workspace: string): string {
  return `${workspace}.readiness_counts`;
}

/**
 * What became of an encounter in billing, beside the encounter's own stream: `{workspace}.readiness-{percent-encoded id}`. It is
 * erased with the encounter. Who folds it leaves aside types of events that he does not look for.
 */
export function encounterReadinessStream(workspace: string, encounterId: string): string {
  return recordStream(workspace, 'readiness', encounterId);
}

/** Whether a stream is a `readinessStream` or an `encounterReadinessStream`. */
export function isReadinessStream(stream: string): boolean {
  return stream.startsWith('readiness', stream.indexOf('.') + 1);
}

/** A set of codes that was loaded for the whole installation, such as `nucc`. */
export function codeSetStream(set: string): string {
  return `${INSTALLATION}.code_set-${set}`;
}

/** Which codes of an authenticator app a user has used; only its end is read. */
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

/** The workspace whose stream this is; of a stream that is not shared. */
export function workspaceOfStream(stream: string): string {
  return stream.slice(0, stream.indexOf('.'));
}

/** The kind of the record or document whose stream this is. */
export function kindOfStream(stream: string): string {
  return stream.slice(stream.indexOf('.') + 1, stream.indexOf('-'));
}

/** The caller's id of the record whose stream this is. */
export function recordIdOf(stream: string): string {
  return decodeURIComponent(stream.slice(stream.indexOf('-') + 1));
}

/** The caller's ids of the document whose stream this is, and of its encounter. */
export function documentIdsOf(stream: string): { encounterId: string; documentId: string } {
  const [encounterId = '', documentId = ''] = recordIdOf(stream).split('/').map(decodeURIComponent);
  return { encounterId, documentId };
}

/** The stream of the encounter to which the document of a stream belongs. */
export function encounterOfDocument(stream: string): string {
  return recordStream(workspaceOfStream(stream), 'encounter', documentIdsOf(stream).encounterId);
}

/** The stream of the encounter with which what a stream holds is erased: that of a document, or `encounterReadinessStream`. */
export function encounterBeside(stream: string): string {
  if (kindOfStream(stream) === 'document') return encounterOfDocument(stream);
  return recordStream(workspaceOfStream(stream), 'encounter', recordIdOf(stream));
}
