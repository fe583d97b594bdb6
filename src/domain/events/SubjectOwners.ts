import type { RecordedEvent } from './event.ts';

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
