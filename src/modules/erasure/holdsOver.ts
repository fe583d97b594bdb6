import { ErasureRefused } from './ErasureRefused.ts';
import { type Hold, type HoldState, heldKey } from './holdState.ts';

/** Number of holds that a refusal lists individually; the rest are counted. */
const NAMED = 3;

interface RecordName {
  kind: string;
  id: string;
}

/** What is to be erased, and whose holds on other records protect it. */
export interface Erasable extends RecordName {
  /** For an encounter: its patient; for an encounter or a patient: also the patients into which they were merged. */
  patientIds?: readonly string[];
  /** Records that refer to it, and would be erased with it. */
  referrers: readonly RecordName[];
}

/** The holds in force that protect a record, by what they cover. */
export interface Holding {
  workspace: Hold[];
  record: Hold[];
  patient: Hold[];
  /** On records that refer to it. */
  referrers: Hold[];
}

/** Returns the legal holds that block the erasure of a record; undefined when there are none. */
export function holdsOver(
  { inForce }: HoldState,
  { kind, id, patientIds = [], referrers }: Erasable,
): Holding | undefined {
  if (inForce.size === 0) return undefined;
  const on = (record?: RecordName) => inForce.get(heldKey(record)) ?? [];
  const holding = {
    workspace: on(),
    record: on({ kind, id }),
    patient: patientIds.flatMap((patientId) => on({ kind: 'patient', id: patientId })),
    referrers: referrers.flatMap(on),
  };
  return Object.values(holding).some(({ length }) => length > 0) ? holding : undefined;
}

/** Describes what is held, since when and by which holds, without reasons or record ids. */
export function holdingText({ workspace, record, patient, referrers }: Holding): string {
  const encounters = new Set(referrers.map((hold) => heldKey(hold.record))).size;
  const parts = [
    under('the workspace is', workspace),
    under('it is', record),
    under('its patient is', patient),
    under(
      encounters === 1 ? 'a record that refers to it is' : `${encounters} records that refer to it are`,
      referrers,
    ),
  ];
  return parts.filter((part) => part !== undefined).join(', and ');
}

function under(what: string, holds: readonly Hold[]): string | undefined {
  if (holds.length === 0) return undefined;
  const named = holds.slice(0, NAMED).map(({ id, added }) => `${id}, since ${added.at}`);
  const others = holds.length - named.length;
  const more = others > 0 ? [`${others.toLocaleString('en-US')} more`] : [];
  return `${what} under legal hold (${[...named, ...more].join('; ')})`;
}

/** Throws the refusal of an erasure blocked by legal holds; `title` names the record: `Patient`. */
export function refuseHeld(title: string, holding: Holding | undefined): void {
  if (holding === undefined) return;
  throw new ErasureRefused('held', `${title} cannot be erased: ${holdingText(holding)}.`);
}
