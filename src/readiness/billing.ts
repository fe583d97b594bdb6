import type {
  BillingChangeAcknowledged,
  EncounterBilled,
  UsedVersion,
} from '../events/encounterReadiness.ts';
import { dataAs, type Position, type RecordedEvent } from '../events/event.ts';
import type { Principal } from '../events/eventMetadata.ts';
import { erasureStep, READINESS_ERASED } from '../events/recordErased.ts';
import { upcast } from '../events/upcast.ts';

/** Who did something, and when: ISO 8601, UTC. */
interface Done {
  at: string;
  principal: Principal;
}

/** What was billed of an encounter last. */
export interface Billing extends Done {
  claimId: string;
  versions: readonly UsedVersion[];
  /** That changes since may stay, up to these versions. */
  acknowledged?: Done & { versions: readonly UsedVersion[] };
}

/** What became of an encounter in billing, as folded from its `encounterReadinessStream`. */
export interface BillingState {
  /** Of the stream's last event. */
  version: number;
  /** Of the first event since the last erasure; undefined where there is none. */
  since?: Position;
  /** Undefined before it was billed. */
  billing?: Billing;
}

/**
 * Folds the next event of an encounter's `encounterReadinessStream`; the state before stays as it is, and types of events that say
 * nothing of billing leave what was billed as it was. Throws an `UnreadableError`.
 */
export function evolveBilling(state: BillingState | undefined, event: RecordedEvent): BillingState {
  const version = event.revision + 1;
  if (event.type === READINESS_ERASED) {
    return erasureStep(upcast(event)) === 'done' ? { version } : { ...state, version };
  }
  const next = { ...state, version, since: state?.since ?? event.position };
  const done = { at: event.recordedAt, principal: event.metadata.principal };
  if (event.type === 'EncounterBilled') {
    const { claim_id: claimId, versions } = dataAs<EncounterBilled>(upcast(event).data);
    return { ...next, billing: { ...done, claimId, versions } };
  }
  if (event.type === 'BillingChangeAcknowledged' && state?.billing) {
    const { versions } = dataAs<BillingChangeAcknowledged>(upcast(event).data);
    return { ...next, billing: { ...state.billing, acknowledged: { ...done, versions } } };
  }
  return next;
}
