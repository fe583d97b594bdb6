import { number } from './report.ts';
import type { Measurement } from './rounds.ts';

/** A peer that writes what it is sent syncs once per request; its checkpoints are few. */
const SYNCS_OF_PEER = { atLeast: 0.9, atMost: 1.1 };

/**
 * Throws unless the peer synced once for each request. Of those without a response it may have carried out none or
 * all.
 */
export function requireSyncs(ofPeer: readonly Measurement[] = []): void {
  for (const { syncs, sent, requests } of ofPeer) {
    if ((syncs * sent) / requests >= SYNCS_OF_PEER.atLeast && syncs <= SYNCS_OF_PEER.atMost) continue;
    throw new Error(`the peer synced ${number(syncs)} times a request, not once: it is no comparison`);
  }
}
