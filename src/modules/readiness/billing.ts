import type {
  BillingChangeAcknowledged,
  EncounterBilled,
  UsedVersion,
} from '../../domain/events/encounterReadiness.ts';
import { dataAs, type Position, type RecordedEvent } from '../../domain/events/event.ts';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import { erasureStep, READINESS_ERASED } from '../../domain/events/recordErased.ts';
import { upcast } from '../../domain/events/upcast.ts';
import type { FirstBilled } from './rules/rule.ts';

/** Who did something, and when: ISO 8601, UTC. */
interface Done {
  at: string;
  principal: Principal;
}

/** What was billed of an encounter last. */
export interface Billing extends Done {
  claimId: string;
  /** Of the last event on it. */
  position: Position;
  versions: readonly UsedVersion[];
  /** When a claim was first sent to each payer: also of what was billed before. */
  firstBilled: FirstBilled;
  /** That changes since may stay, up to these versions, and why. */
  acknowledged?: Done & { reason: string; versions: readonly UsedVersion[] };
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

/** The versions that a claim rests on: of those that were billed last, or up to which changes may stay. */
export function versionsOf({ versions, acknowledged }: Billing): readonly UsedVersion[] {
  return acknowledged?.versions ?? versions;
}

/** Who has billed, and acknowledged what changed since. */
export function billingPrincipals(billing: Billing | undefined): Principal[] {
  return [billing, billing?.acknowledged].flatMap((one) => one?.principal ?? []);
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
    const firstBilled = withBilled(state?.billing?.firstBilled, versions, Date.parse(done.at));
    const { position } = event;
    return { ...next, billing: { ...done, claimId, position, versions, firstBilled } };
  }
  if (event.type === 'BillingChangeAcknowledged' && state?.billing) {
    const { reason, versions } = dataAs<BillingChangeAcknowledged>(upcast(event).data);
    const { position } = event;
    return { ...next, billing: { ...state.billing, position, acknowledged: { ...done, reason, versions } } };
  }
  return next;
}

function withBilled(
  before: FirstBilled = new Map(),
  versions: readonly UsedVersion[],
  at: number,
): FirstBilled {
  const payer = versions.find(({ part }) => part === 'payer');
  return payer === undefined || before.has(payer.id) ? before : new Map([...before, [payer.id, at]]);
}
