import type { Position } from '../domain/events/event.ts';

/** How a scavenge ended: `covered` if everything removed before the mark is out of the node's files, otherwise `not_covered`. */
export type ScavengeOutcome = 'running' | 'covered' | 'not_covered' | 'failed';

/** Has the servers of an event log remove the bytes of removed events from their files: each node has its own. */
export interface Scavenger {
  /** Returns the nodes, as `host:port`, including unreachable ones. Rejects with `unavailable`. */
  nodes(): Promise<string[]>;
  /** Returns a place in the server's log: every removal until now is before it. Rejects with `unavailable`. */
  mark(): Promise<Position>;
  /**
   * Starts a scavenge on a node, unless one is running there, and returns the id of the one that is running. Rejects with
   * `unavailable`, whose `problem` says so when the user lacks permission.
   */
  start(node: string): Promise<string>;
  /** Returns the outcome of a scavenge, and whether it covers what was removed before a mark. Rejects with `unavailable`. */
  outcome(scavenge: string, mark: Position): Promise<ScavengeOutcome>;
}
