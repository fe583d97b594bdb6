import { ErasureRefused } from '../ErasureRefused.ts';
import { type Hold, type HoldState, heldKey } from './holdState.ts';

/** Holds that a refusal names one by one; the others are counted. */
const NAMED = 3;

interface RecordName {
  kind: string;
  id: string;
}

/** What is to be erased, and what holds on other records protect it. */
export interface Erasable extends RecordName {
  /** Of an encounter: the patient that it is of; of that one and of a patient: those into whom they were merged. */
  patientIds?: readonly string[];
  /** What refers to it, and would go with it. */
  referrers: readonly RecordName[];
}

/** The holds in force that protect a record, by what they are on. */
export interface Holding {
  workspace: Hold[];
  record: Hold[];
  patient: Hold[];
  /** On records that refer to it. */
  referrers: Hold[];
}

/** The legal holds that stand in the way of erasing a record; undefined where none does. */
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

/** What is held, since when and by which holds, in words: nothing of why, and no id of a record. */
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

/** Throws the refusal of an erasure that legal holds stand in the way of; `title` names the record: `Patient`. */
export function refuseHeld(title: string, holding: Holding | undefined): void {
  if (holding === undefined) return;
  throw new ErasureRefused('held', `${title} cannot be erased: ${holdingText(holding)}.`);
}
