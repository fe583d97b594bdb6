import { unavailable } from '../../errors.ts';
import { consistencyRanges } from '../../hashing/treeProofs.ts';
import type { ReadModels } from '../../ports/readModels.ts';
import { validationError } from '../../records/validate.ts';
import type { TreeHead } from '../treeHead.ts';
import type { ConsistencyProof } from './proof.ts';
import { StoredTree } from './StoredTree.ts';

/**
 * Proves that the events of an earlier head of a workspace are those with which a later one begins; `differs` is the head
 * that is none of the stored tree. Rejects with `validation_failed` when the first one has more events, and with
 * `unavailable` when the tree does not hold all of them yet.
 */
export async function proveConsistency(
  readModels: ReadModels,
  first: TreeHead,
  second: TreeHead,
): Promise<ConsistencyProof | { differs: TreeHead }> {
  if (first.size > second.size)
    throw validationError([{ field: 'first', message: 'must not have more events than the second head' }]);
  const stored = await StoredTree.open(readModels, second.workspace);
  if (stored === undefined || stored.head.size < second.size) throw unavailable('hash tree');
  for (const head of [first, second])
    if ((await stored.rootAt(head.size)) !== head.root) return { differs: head };
  const consistency = await stored.roots(consistencyRanges(first.size, second.size));
  return { type: 'chartledger.consistency_proof.v1', first, second, consistency };
}
