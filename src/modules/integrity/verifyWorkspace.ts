import type { TreeLeaf } from '../../../projections/tree.ts';
import { eventLeaf } from '../../domain/eventLeaf.ts';
import type { ErasedEvent, Position, RecordedEvent, UnreadableEvent } from '../../domain/events/event.ts';
import { addLeaf, emptyTree, type Hash, type HashTree, treeRoot } from '../../domain/hashTree.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { inLogOrder } from '../../storage/inLogOrder.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { ErasureCheck, type ToldErasure } from './ErasureCheck.ts';
import { type Oddities, OddityCheck } from './OddityCheck.ts';
import { readWorkspace } from './readWorkspace.ts';
import { storedLeaves } from './storedLeaves.ts';
import type { LastEvent, TreeHead } from './treeHead.ts';

export interface VerifyPorts {
  eventLog: EventLog;
  readModels: ReadModels;
}

export interface VerifyOptions {
  /** Heads of this workspace signed earlier; their signatures have been checked. */
  heads?: readonly TreeHead[];
  /** By id of a replaced key: position of the event that replaced it; the key signs nothing after it. */
  keyEnds?: ReadonlyMap<string, Position>;
  /** Called with the position in the log, where it will end, and the number of events that held. */
  onProgress?: ((position: Position, until: Position, events: number) => void) | undefined;
}

/** The first event that is not what it was. */
export interface Difference {
  /** `misplaced`: its metadata name another workspace than its stream or, in a shared stream, than that of its subject. */
  what: 'changed' | 'unreadable' | 'misplaced' | 'missing' | 'added';
  position: Position;
  eventId: string;
  /** Unknown for a missing event. */
  stream?: string;
  version?: number;
}

/** A signed head that does not match the log. */
export interface HeadProblem {
  head: TreeHead;
  problem: string;
}

export interface Verified {
  /** Over all events of the workspace, as far as they were sound. */
  tree: HashTree;
  lastEvent: LastEvent | null;
  /** How many of them were in the read model, and compared with it. */
  compared: number;
  difference?: Difference;
  /** The first of the signed heads, by size, that the log does not match, and in what way. */
  headProblem?: HeadProblem;
  /** Events that no service would have written. */
  oddities: Oddities;
  /** Number of erased events, and the erasures that report them. */
  erased: { count: number; told: readonly ToldErasure[] };
}

/**
 * Recomputes the tree of a workspace from the log, up to its current end, and compares it leaf by leaf with the read model's, as
 * far as that reaches, and with signed heads. Ends at the first difference; oddities of events that differ from nothing known are
 * collected.
 */
export async function verifyWorkspace(
  { eventLog, readModels }: VerifyPorts,
  workspace: string,
  { heads = [], keyEnds = new Map(), onProgress }: VerifyOptions,
): Promise<Verified> {
  // In this order: whatever the read model holds by now is in the log when its end is requested.
  const stored = await storedLeaves(readModels, workspace);
  const until = await eventLog.head();
  const bySize = Map.groupBy(heads, ({ size }) => size);
  const oddities = new OddityCheck(heads);
  const erasures = new ErasureCheck();
  const result: Verified = {
    ...{ tree: emptyTree, lastEvent: null, compared: 0, oddities: oddities.found },
    erased: erasures,
  };
  const differs = (difference: Difference): Verified => ({ ...result, difference });

  for await (const batch of readWorkspace(eventLog, workspace, { after: 0, until })) {
    for (const event of inLogOrder(batch)) {
      const expected = (await stored.leaves.next()).value;
      const place = expected && comparePlaces(event, expected);
      if (place) return differs(place);
      const leaf = leafOf(event);
      if (leaf === undefined) return differs(named(event, unreadableAs(event)));
      // The original event gives its name if a different one is there now.
      if (expected && expected[2] !== leaf)
        return differs({ ...named(event, 'changed'), eventId: expected[1] });
      result.tree = addLeaf(result.tree, leaf);
      if ('data' in event) {
        result.lastEvent = event;
        oddities.look(event, result.tree.size);
      }
      if (!isTaken(erasures, event)) return differs(named(event, 'unreadable'));
      if (expected) result.compared += 1;
      for (const head of bySize.get(result.tree.size) ?? []) {
        const problem = headProblem(head, result.tree, event.position, keyEnds);
        if (problem) return { ...result, headProblem: { head, problem } };
      }
    }
    onProgress?.(batch.position, until, result.tree.size);
  }
  const unnamed = await unnamedErasure(eventLog, workspace, erasures, until);
  if (unnamed) return differs(named(unnamed, 'missing'));
  const { size } = result.tree;
  const expected = size < stored.size ? (await stored.leaves.next()).value : undefined;
  if (expected) return differs(missing(expected));
  const beyond = heads.filter((head) => size < head.size).sort((a, b) => a.size - b.size)[0];
  if (beyond === undefined) return result;
  const problem = `it contains ${size} events, but ${beyond.size} were signed`;
  return { ...result, headProblem: { head: beyond, problem } };
}

/** Returns the leaf of an event, or of an erased one; undefined for one that cannot be read. */
function leafOf(event: RecordedEvent | UnreadableEvent | ErasedEvent): Hash | undefined {
  if ('data' in event) return eventLeaf(event);
  return 'leaf' in event ? event.leaf : undefined;
}

type Placed = Pick<UnreadableEvent, 'id' | 'stream' | 'revision' | 'position'>;

/** Returns an erased event without a tombstone, not even one after the end that the log had at the start. */
async function unnamedErasure(
  eventLog: EventLog,
  workspace: string,
  erasures: ErasureCheck,
  until: Position,
): Promise<ErasedEvent | undefined> {
  if (erasures.unnamed === undefined) return undefined;
  const range = { after: until, until: await eventLog.head() };
  for await (const { events } of readWorkspace(eventLog, workspace, range)) {
    for (const event of events) erasures.take(event);
  }
  return erasures.unnamed;
}

/** Returns what is wrong with a head of as many events as the tree has, the last of which is at a position. */
function headProblem(
  { size, root, chain, key_id }: TreeHead,
  tree: HashTree,
  position: Position,
  keyEnds: ReadonlyMap<string, Position>,
): string | undefined {
  if (treeRoot(tree) !== root || tree.chain !== chain)
    return `its first ${size} events are not those that were signed`;
  const end = keyEnds.get(key_id);
  return end !== undefined && position >= end
    ? `the key ${key_id}, which signed it, was replaced at position ${end}, but the head extends to position ${position}`
    : undefined;
}

function comparePlaces(
  event: RecordedEvent | UnreadableEvent | ErasedEvent,
  expected: TreeLeaf,
): Difference | undefined {
  const [position] = expected;
  if (event.position > position) return missing(expected);
  // The tree lacks events that were unreadable when projected.
  if (event.position < position)
    return named(event, leafOf(event) === undefined ? unreadableAs(event) : 'added');
  return undefined;
}

/** False for a tombstone that does not have the form of one: nothing has written it so. */
function isTaken(erasures: ErasureCheck, event: Parameters<ErasureCheck['take']>[0]): boolean {
  try {
    erasures.take(event);
    return true;
  } catch {
    return false;
  }
}

function unreadableAs(event: object): 'misplaced' | 'unreadable' {
  return 'misplaced' in event ? 'misplaced' : 'unreadable';
}

function missing([position, eventId]: TreeLeaf): Difference {
  return { what: 'missing', position, eventId };
}

function named(event: Placed, what: Difference['what']): Difference {
  const { position, id, stream, revision } = event;
  return { what, position, eventId: id, stream, version: revision + 1 };
}
