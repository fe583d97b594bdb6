import { dataAs, type Position, type Principal, type RecordedEvent } from '../../domain/events/event.ts';
import type { RecordErased } from '../../domain/events/payloads.ts';
import {
  documentIdsOf,
  holdsStream,
  ownerKind,
  recordStream,
  workspaceOfStream,
} from '../../domain/events/streams.ts';
import { upcast } from '../../domain/events/upcasting.ts';
import { evolveRecord, type RecordState } from '../../domain/records/fold.ts';
import type { RecordFields } from '../../domain/records/schema/kind.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { ServiceError } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { concernsAny, type Message } from '../integrations/messages/message.ts';
import { type FoldRange, foldStream } from '../records/queries/records.ts';
import type { Referrer } from './references.ts';

/** The refusal (`conflict`) of an erasure that is blocked. */
export class ErasureRefused extends ServiceError {
  /** Whether it is blocked by a legal hold, or by records that refer to the record. */
  readonly obstacle: 'held' | 'referred_to';

  constructor(obstacle: ErasureRefused['obstacle'], message: string) {
    super('conflict', message);
    this.obstacle = obstacle;
  }
}

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
function heldKey(record?: { kind: string; id: string }): string {
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

/** Returns what is held, each with its holds, oldest first; `subject` begins a sentence: `its patient is`. */
export function heldParts({ workspace, record, patient, referrers }: Holding) {
  const encounters = new Set(referrers.map((hold) => heldKey(hold.record))).size;
  const referring =
    encounters === 1 ? 'a record that refers to it is' : `${encounters} records that refer to it are`;
  return [
    { subject: 'the workspace is', holds: workspace },
    { subject: 'it is', holds: record },
    { subject: 'its patient is', holds: patient },
    { subject: referring, holds: referrers },
  ].filter(({ holds }) => holds.length > 0);
}

/** Describes what is held, since when and by which holds, without reasons or record ids. */
function holdingText(holding: Holding): string {
  return heldParts(holding)
    .map(({ subject, holds }) => under(subject, holds))
    .join(', and ');
}

function under(what: string, holds: readonly Hold[]): string {
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

/**
 * Returns the ids of the patients whose holds protect a record in addition to its own: for an encounter its patient and the
 * patients into which that one was merged; for a patient those into which it was merged. As of every write acknowledged before
 * the call; `version`: as of this version of the record; `before`: considers only merges before this position. Rejects with
 * `unreadable` and `unavailable`.
 */
export async function patientsOver(
  eventLog: EventLog,
  workspace: string,
  { kind, id }: { kind: string; id: string },
  { version, before = Number.POSITIVE_INFINITY }: { version?: number | undefined; before?: Position } = {},
): Promise<string[]> {
  if (kind !== 'encounter' && kind !== 'patient') return [];
  const fieldsOf = async (of: string, one: string, range: FoldRange<RecordState>) => {
    const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(of, state, event);
    const state = await foldStream<RecordState>(eventLog, recordStream(workspace, of, one), evolve, range);
    return (state?.fields ?? {}) as Partial<RecordFields>;
  };
  const own = await fieldsOf(kind, id, { ...(version !== undefined && { version }) });
  const isWanted = ({ position }: RecordedEvent) => position < before;
  const over = new Set<string>();
  for (let next = kind === 'encounter' ? own.patient_id : own.merged_into; typeof next === 'string'; ) {
    if (over.has(next) || (kind === 'patient' && next === id)) break;
    over.add(next);
    next = (await fieldsOf('patient', next, { isWanted })).merged_into;
  }
  return [...over];
}

/**
 * Returns all legal holds of a workspace, as of every change acknowledged before the call. Reads the log itself, from where
 * `known` ends; `known` is updated in place. With a position, only changes before it. Rejects with `unavailable`, and with
 * `unreadable`.
 */
export async function readHolds(
  eventLog: EventLog,
  workspace: string,
  { known = noHolds(), before = Number.POSITIVE_INFINITY }: { known?: HoldState; before?: Position } = {},
): Promise<HoldState> {
  const range = { state: known, isWanted: ({ position }: RecordedEvent) => position < before };
  return (await foldStream(eventLog, holdsStream(workspace), evolveHolds, range)) ?? known;
}

/**
 * Returns the legal holds that block the erasure of a record; undefined when there are none. As of every hold acknowledged before
 * the call. `referrers` finds what refers to the record; it is not called when nothing is held. Rejects as `referrers` does, with
 * `unreadable` and `unavailable`.
 */
export async function currentHolding(
  eventLog: EventLog,
  workspace: string,
  record: { kind: string; id: string },
  referrers: () => Promise<readonly Referrer[]>,
): Promise<Holding | undefined> {
  const holds = await readHolds(eventLog, workspace);
  if (holds.inForce.size === 0) return undefined;
  const patientIds = await patientsOver(eventLog, workspace, record);
  return holdsOver(holds, { ...record, patientIds, referrers: await referrers() });
}

/** A record that was protected by legal holds at its tombstone. */
interface HeldRecordState {
  holding: Holding;
  /** Its state before the tombstone. */
  record: RecordState;
}

/**
 * Returns the legal holds that precede the last tombstone of an erasure in the log, and protect what it would erase; undefined
 * when there are none, when the events are already removed, and when the record goes with another one, whose tombstone decides.
 * `referrers` is not called when nothing is held. Rejects as `referrers` does, with `unreadable` and `unavailable`.
 */
export async function heldBefore(
  eventLog: EventLog,
  done: RecordedEvent,
  referrers: () => Promise<readonly Referrer[]>,
): Promise<HeldRecordState | undefined> {
  if (goesWithAnother(done)) return undefined;
  const { kind, record_id: id, parts } = dataAs<RecordErased>(done.data);
  const holds = await readHolds(eventLog, done.metadata.workspace, { before: done.position });
  if (holds.inForce.size === 0) return undefined;
  const first = done.revision + 1 - parts;
  const [before] = await eventLog.readStream(done.stream, { from: first - 1, limit: 1 });
  if (before?.revision !== first - 1) return undefined;
  const evolve = (state: RecordState | undefined, event: RecordedEvent) => evolveRecord(kind, state, event);
  const record = await foldStream<RecordState>(eventLog, done.stream, evolve, { version: first });
  if (record === undefined || record.erased) return undefined;
  const asThen = { version: first, before: done.position };
  const patientIds = await patientsOver(eventLog, done.metadata.workspace, { kind, id }, asThen);
  const holding = holdsOver(holds, { kind, id, patientIds, referrers: await referrers() });
  return holding && { holding, record };
}

/** Whether a tombstone is for something erased along with the record that was named. */
export function goesWithAnother({ data }: RecordedEvent): boolean {
  const { kind, with_patient } = dataAs<RecordErased>(data);
  return with_patient === true || ownerKind(kind) !== undefined;
}

/** Whether a legal hold protects the document of a stream. Rejects with `unreadable` and `unavailable`. */
export async function holdsDocument(eventLog: EventLog, stream: string): Promise<boolean> {
  const encounter = { kind: 'encounter', id: documentIdsOf(stream).encounterId };
  return (await currentHolding(eventLog, workspaceOfStream(stream), encounter, async () => [])) !== undefined;
}

/** Whether a legal hold protects a record that a message is about. Rejects with `unreadable` and `unavailable`. */
export async function holdsMessage(
  { eventLog, stateStore }: { eventLog: EventLog; stateStore: StateStore },
  message: Message,
): Promise<boolean> {
  const { workspace, about } = message;
  const { inForce } = await readHolds(eventLog, workspace);
  const held = [...inForce.values()].flatMap(([hold]) => hold?.record ?? []);
  if (await concernsAny(stateStore, message, held)) return true;
  for (const { kind, id } of about) {
    if (await currentHolding(eventLog, workspace, { kind, id }, async () => [])) return true;
  }
  return false;
}

const MAX_REASON = 1_000;

/** Returns a reason as it is stored, trimmed. Throws `validation_failed` when it is empty or too long. */
export function requireReason(reason: string): string {
  const said = reason.trim();
  if (said !== '' && said.length <= MAX_REASON) return said;
  throw validationError([{ field: 'reason', message: `must have 1 to ${MAX_REASON} characters` }]);
}
