import { treeModel } from '../../../projections/tree.ts';
import { validationError } from '../../domain/records/schema/validate.ts';
import { consistencyRanges } from '../../domain/treeProofs.ts';
import { caughtUp } from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import type { ConsistencyProof } from './proof.ts';
import { StoredTree } from './StoredTree.ts';
import type { TreeHead } from './treeHead.ts';

/**
 * Proves that a later head of a workspace begins with the events of an earlier one; `differs` is the head that does not belong to
 * the stored tree. Rejects with `validation_failed` when the first one has more events, and with `unavailable` when the projector
 * is more than two seconds behind.
 */
export async function proveConsistency(
  ports: QueryPorts,
  first: TreeHead,
  second: TreeHead,
): Promise<ConsistencyProof | { differs: TreeHead }> {
  if (first.size > second.size)
    throw validationError([{ field: 'first', message: 'must not have more events than the second head' }]);
  await caughtUp(ports, treeModel, 'hash tree');
  const stored = await StoredTree.open(ports.readModels, second.workspace);
  if (stored === undefined || stored.head.size < second.size) return { differs: second };
  for (const head of [first, second])
    if ((await stored.rootAt(head.size)) !== head.root) return { differs: head };
  const consistency = await stored.roots(consistencyRanges(first.size, second.size));
  return { type: 'chartledger.consistency_proof.v1', first, second, consistency };
}
