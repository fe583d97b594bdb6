import type { RecordKind } from './catalog.ts';

/** Stream of all workspaces and API keys. It has no dot, so no workspace's prefix selects it. */
export const ACCESS_STREAM = 'access';

/** Id of a workspace: it is the prefix of its streams, so it has no dot. */
export const WORKSPACE_ID = /^[a-z0-9_]{2,40}$/;

/** `{workspace}.{kind}-{percent-encoded id}`; `id` must be well-formed Unicode. Different ids give different names. */
export function recordStream(workspace: string, kind: RecordKind, id: string): string {
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

/** The partition that lists one workspace's records of one kind. */
export function kindPartition(workspace: string, kind: RecordKind): string {
  return `${workspace}.${kind}`;
}
