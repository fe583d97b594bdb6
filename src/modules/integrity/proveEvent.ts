import { treeModel } from '../../../projections/tree.ts';
import { eventLeaf } from '../../domain/eventLeaf.ts';
import type { RecordedEvent } from '../../domain/events/event.ts';
import { erasureStep } from '../../domain/events/recordErased.ts';
import { validationError } from '../../domain/records/schema/validate.ts';
import { inclusionRanges, rootOfInclusion } from '../../domain/treeProofs.ts';
import { gone, notFound, ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { caughtUp, untilReached } from '../records/queries/page.ts';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import type { InclusionProof } from './proof.ts';
import { StoredTree } from './StoredTree.ts';
import type { TreeHead } from './treeHead.ts';

/** A proof, and the tree it was taken from: at its current size, unless another one was requested. */
export interface EventProof {
  proof: InclusionProof;
  stored: StoredTree;
}

/**
 * Returns the event of one version of a stream; rejects with `gone` when it was erased, with `not_found` when there is no such
 * version, where `title` names what it belongs to: `Patient`.
 */
export async function eventOfVersion(
  eventLog: EventLog,
  stream: string,
  version: number,
  title: string,
): Promise<RecordedEvent> {
  const revision = version - 1;
  const [event] = await eventLog.readStream(stream, { from: revision, limit: 1 });
  if (event?.revision === revision) return event;
  if (event && erasureStep(event)) throw gone(title, event.recordedAt);
  const [last] = await eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
  if (last === undefined) throw notFound(title);
  throw new ServiceError('not_found', `The ${title.toLowerCase()} has no version ${version}.`);
}

/** Which tree should contain an event; default: the current one. */
export interface WantedTree {
  /** The tree when it had this many events. */
  treeSize?: number | undefined;
  /** A signed head, whose tree is used if no size is requested and it contains the event; the proof then includes it. */
  signed?: TreeHead | undefined;
}

/**
 * Proves that an event is in the tree of its workspace. Waits for the projector, and rejects with `unavailable` when that is more
 * than two seconds behind; with `validation_failed` when the tree never had that size, or did not have this event yet; with
 * `conflict` when the tree does not match the log's event.
 */
export async function proveEvent(
  { eventLog, readModels }: QueryPorts,
  event: RecordedEvent,
  { treeSize, signed }: WantedTree = {},
): Promise<EventProof> {
  const { workspace } = event.metadata;
  await untilReached(readModels, treeModel, event.position, 'hash tree');
  let stored = await StoredTree.open(readModels, workspace);
  if (stored && treeSize !== undefined && treeSize > stored.head.size) {
    await caughtUp({ eventLog, readModels }, treeModel, 'hash tree');
    stored = await StoredTree.open(readModels, workspace);
  }
  const placed = await stored?.find(event.position);
  const leaf = eventLeaf(event);
  if (stored === undefined || placed?.leaf[2] !== leaf) throw eventDiffers(workspace);
  const { index } = placed;
  const present = stored.head.size;
  const isCovered = signed !== undefined && index < signed.size && signed.size <= present;
  const size = treeSize ?? (isCovered ? signed.size : present);
  requireSize(size, index, present);
  const head = signed?.size === size ? signed : undefined;
  const [inclusion, root] = await Promise.all([
    stored.roots(inclusionRanges(index, size)),
    stored.rootAt(size),
  ]);
  if (rootOfInclusion(leaf, index, size, inclusion) !== root || (head && head.root !== root))
    throw eventDiffers(workspace);
  const { id, type, stream, revision, recordedAt, metadata, data } = event;
  return {
    proof: {
      type: 'chartledger.proof.v1',
      event: { id, type, stream, revision, recordedAt, metadata, data },
      leaf,
      index,
      inclusion,
      tree_head: head ?? { type: 'chartledger.tree_root.v1', workspace, size, root },
    },
    stored,
  };
}

function requireSize(size: number, index: number, present: number): void {
  const message =
    size > present
      ? `must be at most ${present}, the current size`
      : `must be greater than ${index}, because the event was recorded later`;
  if (size > present || size <= index) throw validationError([{ field: 'tree_size', message }]);
}

/** The error for an event that does not match the tree of its workspace. */
export function eventDiffers(workspace: string): ServiceError {
  return new ServiceError(
    'conflict',
    `This event differs between the hash tree and the event log. To find out why, run: chartledger verify --workspace ${workspace}`,
  );
}
