import { z } from 'zod';
import type { Position } from '../../domain/events/event.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { EventLog, Scavenger } from '../../storage/eventLog.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import { purgesTable } from './purge.ts';

/** After this time a node is asked again: whether it still scavenges, is reachable, or succeeds now. */
const ASK_AGAIN_MS = 10_000;

const nodeStates = ['waiting', 'scavenging', 'failed', 'unreachable', 'erased'] as const;

const nodeSchema = z.object({
  /** As `host:port`. */
  node: z.string(),
  /** `erased`: its files contain nothing of what is to be erased. */
  state: z.enum(nodeStates),
  /** Id of the scavenge that runs there. */
  scavenge: z.string().optional(),
  asked_at: z.string().optional(),
});

/** Scavenges of the nodes of an event log that were requested; one set of them at a time. */
const scavengesSchema = z.object({
  /** The files are to contain nothing of what was erased up to here. Times are ISO 8601, UTC. */
  requested: z.number(),
  requested_at: z.string(),
  /** The place in the server's log behind these removals; undefined until they are complete. */
  mark: z.number().optional(),
  nodes: z.array(nodeSchema),
  /** No node's files contain anything of what was erased up to here. */
  erased: z.number(),
  erased_at: z.string().optional(),
});

export type NodeState = (typeof nodeStates)[number];
type ScavengedNode = z.infer<typeof nodeSchema>;
type Scavenges = z.infer<typeof scavengesSchema>;

/** For each log, by its identity. If lost, scavenges have to be requested again. */
const scavengesTable: StateTable<Scavenges> = { name: 'scavenges_v1', body: scavengesSchema };

export interface ScavengePorts {
  eventLog: EventLog;
  stateStore: StateStore;
}

/** Returns the scavenges that were last requested; undefined when there were none. Rejects with `unavailable`. */
export async function readScavenges({ eventLog, stateStore }: ScavengePorts): Promise<Scavenges | undefined> {
  const [row] = await stateStore.load(scavengesTable, [await eventLog.identity()]);
  return row?.body;
}

/** Whether the files of no node contain anything of what was erased up to a position. */
export function isErased(scavenges: Scavenges | undefined, position: Position): boolean {
  return scavenges !== undefined && scavenges.erased >= position;
}

/** Where bytes of what was erased still are. */
interface ErasedBytes {
  /** Whether the files of the stores contain none. */
  erased: boolean;
  /** Nodes of the event log that are to be scavenged, and their state; empty if none were requested, or it has no nodes. */
  nodes: Pick<ScavengedNode, 'node' | 'state'>[];
}

/** Returns where bytes of what was erased up to the position of a last tombstone still are. Rejects with `unavailable`. */
export async function locateErasedBytes(ports: ScavengePorts, position: Position): Promise<ErasedBytes> {
  if (ports.eventLog.scavenger === undefined)
    return { erased: (await purgedUpTo(ports)) >= position, nodes: [] };
  const scavenges = await readScavenges(ports);
  if (isErased(scavenges, position)) return { erased: true, nodes: [] };
  const isRequested = scavenges !== undefined && scavenges.requested >= position;
  const nodes = isRequested ? scavenges.nodes.map(({ node, state }) => ({ node, state })) : [];
  return { erased: false, nodes: nodes.filter(({ state }) => state !== 'erased') };
}

/** Returns the position up to which what was erased is removed from the stores, except for files of servers that scavenge. */
async function purgedUpTo({ eventLog, stateStore }: ScavengePorts): Promise<Position> {
  const [row] = await stateStore.load(purgesTable, [await eventLog.identity()]);
  return row?.body.position ?? 0;
}

/** Returns where bytes of the last erasures still are; undefined if nothing was erased. Rejects with `unavailable`. */
export async function locateLastErasedBytes(ports: ScavengePorts): Promise<ErasedBytes | undefined> {
  const position = await purgedUpTo(ports);
  return position === 0 ? undefined : locateErasedBytes(ports, position);
}

/**
 * Has the service scavenge every node of the event log, one after the other, until the files of none contain anything of what was
 * erased up to a position. Rejects with `unavailable`.
 */
export async function requestScavenges(ports: ScavengePorts, position: Position): Promise<void> {
  await changeScavenges(ports, (present) => {
    if (present && present.requested >= position && present.erased < present.requested) return undefined;
    const requested = Math.max(position, present?.requested ?? 0);
    const requested_at = new Date().toISOString();
    return { ...present, requested, requested_at, mark: undefined, nodes: [], erased: present?.erased ?? 0 };
  });
}

/** Does the next step of requested scavenges, if there is any; see `requestScavenges`. Rejects with `unavailable`. */
export async function advanceScavenges(ports: ScavengePorts): Promise<void> {
  const { scavenger } = ports.eventLog;
  if (scavenger === undefined) return;
  const before = await readScavenges(ports);
  if (before === undefined || before.erased >= before.requested) return;
  const after = await nextStep(ports, scavenger, before);
  const isSame = (present: Scavenges | undefined) => present?.requested_at === before.requested_at;
  await changeScavenges(ports, (present) => (isSame(present) ? after : undefined));
}

async function nextStep(
  ports: ScavengePorts,
  scavenger: Scavenger,
  scavenges: Scavenges,
): Promise<Scavenges | undefined> {
  if (scavenges.mark === undefined) {
    // Some of it may not be removed yet.
    if ((await purgedUpTo(ports)) < scavenges.requested) return undefined;
    return { ...scavenges, mark: await scavenger.mark() };
  }
  const { mark, requested } = scavenges;
  const known = new Map(scavenges.nodes.map((node) => [node.node, node]));
  const names = await scavenger.nodes();
  const nodes = names.map((node): ScavengedNode => known.get(node) ?? { node, state: 'waiting' });
  const due = nextNode(nodes);
  if (due) nodes[nodes.indexOf(due)] = await stepOf(scavenger, due, mark);
  const isDone = nodes.length > 0 && nodes.every(({ state }) => state === 'erased');
  return {
    ...scavenges,
    nodes,
    ...(isDone && { erased: requested, erased_at: new Date().toISOString() }),
  };
}

/** Returns the node whose turn it is: nodes that scavenge at the same time compete for the scavenge point. */
function nextNode(nodes: readonly ScavengedNode[]): ScavengedNode | undefined {
  const inState = (wanted: NodeState) => nodes.find(({ state }) => state === wanted);
  const again = nodes
    .filter((node) => (node.state === 'failed' || node.state === 'unreachable') && isToAskAgain(node))
    .sort((a, b) => String(a.asked_at).localeCompare(String(b.asked_at)));
  return inState('scavenging') ?? inState('waiting') ?? again[0];
}

async function stepOf(scavenger: Scavenger, known: ScavengedNode, mark: Position): Promise<ScavengedNode> {
  const { node, state, scavenge } = known;
  if (state === 'scavenging' && scavenge !== undefined) {
    const outcome = await scavenger.outcome(scavenge, mark);
    if (outcome === 'covered') return { node, state: 'erased' };
    // It began before the point behind the mark: its own one may be that.
    if (outcome === 'not_covered') return requestScavenge(scavenger, node);
    if (outcome === 'failed') return { node, state: 'failed', asked_at: new Date().toISOString() };
    // A node that was restarted meanwhile does not say how it ended.
    if (!isToAskAgain(known)) return known;
  }
  return requestScavenge(scavenger, node);
}

async function requestScavenge(scavenger: Scavenger, node: string): Promise<ScavengedNode> {
  const asked_at = new Date().toISOString();
  try {
    return { node, state: 'scavenging', scavenge: await scavenger.start(node), asked_at };
  } catch (error) {
    if (!(error instanceof ServiceError) || error.problem !== undefined) throw error;
    return { node, state: 'unreachable', asked_at };
  }
}

function isToAskAgain({ asked_at }: ScavengedNode): boolean {
  return asked_at === undefined || Math.abs(Date.now() - Date.parse(asked_at)) > ASK_AGAIN_MS;
}

/** Writes what `change` makes of the present state, unless that is undefined; again when another process was faster. */
async function changeScavenges(
  { eventLog, stateStore }: ScavengePorts,
  change: (present: Scavenges | undefined) => Scavenges | undefined,
): Promise<void> {
  const id = await eventLog.identity();
  for (;;) {
    const [row] = await stateStore.load(scavengesTable, [id]);
    const body = change(row?.body);
    if (body === undefined) return;
    const revision = (row?.revision ?? 0) + 1;
    const isWritten = await stateStore.swap(
      scavengesTable,
      { id, partition: id, order: 0, revision, body },
      row?.revision,
    );
    if (isWritten) return;
  }
}
