import { dataAs, type RecordedEvent } from '../../domain/events/event.ts';
import type { Principal } from '../../domain/events/eventMetadata.ts';
import { upcast } from '../../domain/events/upcast.ts';

/** Data of `HoldAdded` and `HoldReleased`: which hold, on a record or a whole workspace, and why. */
export type HoldChange = { hold_id: string; reason: string } & (
  | { kind: string; record_id: string }
  | { workspace: string }
);

/** Who changed a hold, when (ISO 8601, UTC), and why. */
export interface HoldStep {
  at: string;
  by: Principal;
  reason: string;
}

/** A legal hold: while it is in force, nothing it covers is erased. */
export interface Hold {
  id: string;
  /** The record that is held; undefined: the whole workspace. */
  record: { kind: string; id: string } | undefined;
  added: HoldStep;
  /** Undefined while it is in force. */
  released: HoldStep | undefined;
}

/** All legal holds of a workspace, folded from their stream. */
export interface HoldState {
  /** How many events were folded. */
  version: number;
  /** By id, in the order in which they were added, including released ones. */
  holds: Map<string, Hold>;
  /** Those in force, by what they cover (`heldKey`), oldest first. */
  inForce: Map<string, Hold[]>;
}

export function noHolds(): HoldState {
  return { version: 0, holds: new Map(), inForce: new Map() };
}

/** Key for a record in `HoldState.inForce`; without a record, for the workspace. No kind contains a hyphen. */
export function heldKey(record?: { kind: string; id: string }): string {
  return record === undefined ? '' : `${record.kind}-${record.id}`;
}

/** Folds the next event of the stream of holds into the state, in place. Throws an `UnreadableError` for an unknown event. */
export function evolveHolds(state: HoldState | undefined, event: RecordedEvent): HoldState {
  const known = state ?? noHolds();
  const change = dataAs<HoldChange>(upcast(event).data);
  const step: HoldStep = { at: event.recordedAt, by: event.metadata.principal, reason: change.reason };
  if (event.type === 'HoldAdded') add(known, change, step);
  else release(known, change.hold_id, step);
  known.version = event.revision + 1;
  return known;
}

function add({ holds, inForce }: HoldState, change: HoldChange, added: HoldStep): void {
  const record = 'kind' in change ? { kind: change.kind, id: change.record_id } : undefined;
  const hold: Hold = { id: change.hold_id, record, added, released: undefined };
  holds.set(hold.id, hold);
  const key = heldKey(record);
  inForce.set(key, [...(inForce.get(key) ?? []), hold]);
}

function release({ holds, inForce }: HoldState, id: string, released: HoldStep): void {
  const hold = holds.get(id);
  if (hold === undefined) return;
  holds.set(id, { ...hold, released });
  const key = heldKey(hold.record);
  const others = (inForce.get(key) ?? []).filter((other) => other.id !== id);
  if (others.length > 0) inForce.set(key, others);
  else inForce.delete(key);
}
