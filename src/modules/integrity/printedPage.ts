import type { InclusionProof } from './proofs.ts';

/** What ties a printed page to the history: the newest event of what it shows, and the tree when it was printed. */
export interface PageEvidence {
  /** The event's place in its stream: 1 is the first. */
  version: number;
  eventId: string;
  leaf: string;
  /** Of the tree. */
  size: number;
  root: string;
  /** Of the key that signs heads; undefined where the process that printed the page does not know it. */
  keyId: string | undefined;
}

/** Returns the line at the foot of a printed page; `parseEvidence` reads it. */
export function evidenceText({ version, eventId, leaf, size, root, keyId }: PageEvidence): string {
  return `Evidence: version ${version}; event ${eventId}; leaf ${leaf}; tree of ${size} events; root ${root}; key ${keyId ?? 'not known'}`;
}

const HASH = '([0-9a-f]{64})';
const evidence = new RegExp(
  `Evidence: version (\\d+); event ([0-9a-f-]{36}); leaf ${HASH}; tree of (\\d+) events; root ${HASH}; key ([0-9a-f]{16}|not known)`,
);

/** Returns the evidence in the text or HTML of a page that was printed; undefined when it has none. */
export function parseEvidence(page: string): PageEvidence | undefined {
  const text = page.replaceAll(/<[^>]*>/g, '').replaceAll(/\s+/g, ' ');
  const [, version, eventId, leaf, size, root, keyId] = evidence.exec(text) ?? [];
  if (eventId === undefined || leaf === undefined || root === undefined) return undefined;
  return {
    ...{ version: Number(version), eventId, leaf, size: Number(size), root },
    keyId: keyId === 'not known' ? undefined : keyId,
  };
}

/**
 * Returns in what the evidence of a page differs from a valid proof, worded to follow `The page is not valid: `;
 * undefined: in nothing.
 */
export function pageProblem(
  page: PageEvidence,
  { event, leaf, tree_head }: InclusionProof,
): string | undefined {
  if (page.eventId !== event.id)
    return `it is about the event ${page.eventId}, but the proof about ${event.id}`;
  if (page.version !== event.revision + 1)
    return `it says version ${page.version}, but the event is version ${event.revision + 1}`;
  if (page.leaf !== leaf) return 'its leaf differs from that of the proof';
  if (page.size === tree_head.size && page.root !== tree_head.root)
    return 'its root differs from that of the proof, for a tree of the same size';
  const keyId = 'key_id' in tree_head ? tree_head.key_id : undefined;
  return page.keyId === undefined || keyId === undefined || page.keyId === keyId
    ? undefined
    : `it names the key ${page.keyId}, but the proof was signed with ${keyId}`;
}
