import { storedLeaf } from '../../domain/eventLeaf.ts';
import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import type { ErasedEvent, RecordedEvent, UnreadableEvent } from '../../domain/events/event.ts';
import { isBookkeeping, workspaceOfStream } from '../../domain/events/streamNames.ts';
import { addLeaf, emptyTree, type Hash, type HashTree } from '../../domain/hashTree.ts';
import type { CopiedEvent, CopiedPlace } from '../../storage/logCopy.ts';
import type { Manifest } from './manifest.ts';

/** Converts a place of the log to its form in a backup. */
export function toCopied(place: RecordedEvent | UnreadableEvent | ErasedEvent): CopiedPlace {
  const { position, stream, revision, id } = place;
  const at = { position, stream, revision, id };
  if ('leaf' in place) return { ...at, leaf: place.leaf };
  if (!('data' in place)) return { ...at, type: place.type };
  const { type, recordedAt, metadata, metadataText, data, dataText } = place;
  return {
    ...at,
    ...{ type, recordedAt },
    // For a log that holds no texts, those from which the event's leaf is made.
    metadata: metadataText ?? (dataText === undefined ? canonicalJson(metadata) : JSON.stringify(metadata)),
    data: dataText ?? canonicalJson(data),
  };
}

/** Converts an event of a backup back to what the log returned. Throws when its texts are not JSON. */
export function toRecorded({ data, metadata, ...event }: CopiedEvent): RecordedEvent {
  return { ...event, data: JSON.parse(data), metadata: JSON.parse(metadata) };
}

export function isEvent(place: CopiedPlace): place is CopiedEvent {
  return 'data' in place;
}

/** Computes the hash trees of all workspaces over the events of a log, taken in order. */
export class Trees {
  readonly #trees: Map<string, HashTree>;

  constructor(trees: Manifest['trees'] = []) {
    this.#trees = new Map(trees.map(({ workspace, ...tree }) => [workspace, tree]));
  }

  /** Takes an event, or what is left of an erased one; the same ones that go into the read model of the tree. */
  take(event: RecordedEvent | ErasedEvent): void {
    if (isBookkeeping(event.stream)) return;
    if ('leaf' in event) this.#add(workspaceOfStream(event.stream), event.leaf);
    else this.#add(event.metadata.workspace, storedLeaf(event));
  }

  toManifest(): Manifest['trees'] {
    return [...this.#trees].map(([workspace, { size, chain, subtrees }]) => ({
      ...{ workspace, size, chain, subtrees },
    }));
  }

  get(workspace: string): HashTree {
    return this.#trees.get(workspace) ?? emptyTree;
  }

  #add(workspace: string, leaf: Hash): void {
    this.#trees.set(workspace, addLeaf(this.get(workspace), leaf));
  }
}
