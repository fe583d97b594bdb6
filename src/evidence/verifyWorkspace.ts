import type { TreeLeaf } from '../../projections/tree.ts';
import type { Position, UnreadableEvent } from '../events/event.ts';
import { eventLeaf } from '../hashing/eventLeaf.ts';
import { addLeaf, emptyTree, type HashTree, treeRoot } from '../hashing/hashTree.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { inLogOrder } from '../ports/inLogOrder.ts';
import type { ReadModels } from '../ports/readModels.ts';
import { type Oddities, OddityCheck } from './OddityCheck.ts';
import { readWorkspace } from './readWorkspace.ts';
import { storedLeaves } from './storedLeaves.ts';
import type { LastEvent, TreeHead } from './treeHead.ts';

export interface VerifyPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

export interface VerifyOptions {
  /** A head that was signed earlier, of this workspace; its signature has been checked. */
  head?: TreeHead | undefined;
  /** Told of how far into the log it is, where it will end, and how many events held. */
  onProgress?: ((position: Position, until: Position, events: number) => void) | undefined;
}

/** The first event that is not what it was. */
export interface Difference {
  what: 'changed' | 'unreadable' | 'missing' | 'added';
  position: Position;
  eventId: string;
  /** Unknown of an event that is missing. */
  stream?: string;
  version?: number;
}

export interface Verified {
  /** Over all events of the workspace, as far as they were sound. */
  tree: HashTree;
  lastEvent: LastEvent | null;
  /** How many of them the read model held, and were compared with it. */
  compared: number;
  difference?: Difference;
  /** What of the signed head the log does not hold. */
  headProblem?: string;
  /** What stands where no service writes it. */
  oddities: Oddities;
}

/**
 * Recomputes the tree of a workspace from the log, up to its present end, and compares it leaf by leaf with the read
 * model's, as far as that reaches, and with a signed head. Ends at the first difference; what is odd about events that
 * differ from nothing known is collected.
 */
export async function verifyWorkspace(
  { eventLog, readModels }: VerifyPorts,
  workspace: string,
  { head, onProgress }: VerifyOptions,
): Promise<Verified> {
  // In this order: what the read model holds by now, the log holds when its end is asked for.
  const stored = await storedLeaves(readModels, workspace);
  const until = await eventLog.head();
  const oddities = new OddityCheck(head);
  const result: Verified = { tree: emptyTree, lastEvent: null, compared: 0, oddities: oddities.found };
  const differs = (difference: Difference): Verified => ({ ...result, difference });

  for await (const batch of readWorkspace(eventLog, workspace, { after: 0, until })) {
    for (const event of inLogOrder(batch)) {
      const expected = (await stored.leaves.next()).value;
      const place = expected && comparePlaces(event, expected);
      if (place) return differs(place);
      if (!('data' in event)) return differs(named(event, 'unreadable'));
      const leaf = eventLeaf(event);
      // The event that was there gives its name, when another one is there now.
      if (expected && expected[2] !== leaf)
        return differs({ ...named(event, 'changed'), eventId: expected[1] });
      result.tree = addLeaf(result.tree, leaf);
      result.lastEvent = event;
      oddities.look(event, result.tree.size);
      if (expected) result.compared += 1;
      if (head?.size === result.tree.size && !holds(result.tree, head)) {
        return { ...result, headProblem: `its first ${head.size} events are not those that were signed` };
      }
    }
    onProgress?.(batch.position, until, result.tree.size);
  }
  const { size } = result.tree;
  const expected = size < stored.size ? (await stored.leaves.next()).value : undefined;
  if (expected) return differs(missing(expected));
  if (head && size < head.size) {
    return { ...result, headProblem: `it holds ${size} events, and ${head.size} were signed` };
  }
  return result;
}

function holds(tree: HashTree, head: TreeHead): boolean {
  return treeRoot(tree) === head.root && tree.chain === head.chain;
}

function comparePlaces(event: UnreadableEvent, expected: TreeLeaf): Difference | undefined {
  const [position] = expected;
  if (event.position > position) return missing(expected);
  return event.position < position ? named(event, 'added') : undefined;
}

function missing([position, eventId]: TreeLeaf): Difference {
  return { what: 'missing', position, eventId };
}

function named(event: UnreadableEvent, what: Difference['what']): Difference {
  const { position, id, stream, revision } = event;
  return { what, position, eventId: id, stream, version: revision + 1 };
}
