import { z } from 'zod';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { type Caller, newEvent } from '../../domain/events/newEvent.ts';
import {
  type DisclosureAdded,
  disclosureMeans,
  erasureStepAfter,
  isRestoring,
  termsOf,
} from '../../domain/events/payloads.ts';
import { disclosuresStream, recordStream } from '../../domain/events/streams.ts';
import { patient } from '../../domain/records/kinds/patient.ts';
import { requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { exactObject, validate, validationError } from '../../domain/records/schema/validation.ts';
import { gone, notFound, ServiceError, unavailable } from '../../platform/errors.ts';
import { appendDecided } from '../../storage/eventLog.ts';
import { findPreviousAppend } from '../idempotency/keys.ts';
import { foldStream } from '../records/queries/records.ts';
import { evolveStatements, noStatements } from './disclosureStatements.ts';
import { type DisclosurePorts, findDisclosure } from './disclosures.ts';
import { disclosureTermsShape } from './disclosureTerms.ts';

const MOST_TEXT = 1_000;

function required(description: string, example: string) {
  return z
    .string()
    .trim()
    .min(1, { error: 'must not be empty' })
    .max(MOST_TEXT)
    .meta({ description, examples: [example] });
}

/** A disclosure that the service did not make, as it is sent. */
export const addedDisclosureSchema = exactObject({
  disclosed_at: requiredDate('2026-03-14', 'When: a date, or a date-time; without an offset in UTC'),
  means: z.enum(disclosureMeans).meta({ description: 'How it was disclosed' }),
  description: required('What was disclosed, in words for the patient', 'Immunization record of 2025'),
  ...disclosureTermsShape,
  recipient: required('Name of the organization or person that received the data', 'State registry'),
}).meta({
  id: 'AddedDisclosure',
  description: 'A disclosure by telephone, fax, mail, on paper or by other means.',
});

/** The purpose of a disclosure for which none was given, as it is sent. */
export const statedPurposeSchema = exactObject({
  purpose: disclosureTermsShape.purpose
    .unwrap()
    .unwrap()
    .meta({ description: 'Why the data were disclosed' }),
  purpose_statement: disclosureTermsShape.purpose_statement,
}).meta({ id: 'StatedPurpose', description: 'The purpose of a disclosure for which none was given.' });

/** Clocks and time zones differ. */
const AHEAD_MS = 86_400_000;

/**
 * Adds a disclosure of a patient's data that the service did not make, and returns the id of its event. Durable when it resolves.
 * Rejects with `validation_failed`, with `not_found`, with `gone` for an erased patient, with `unreadable`, and with `unavailable`,
 * also while what was stated about an earlier patient with the same id is being erased.
 */
export async function addDisclosure(
  ports: Pick<DisclosurePorts, 'eventLog'>,
  caller: Caller,
  patientId: string,
  input: unknown,
): Promise<string> {
  const { disclosed_at, means, description, ...sent } = validate(addedDisclosureSchema, input);
  if (instantOf(disclosed_at) > Date.now() + AHEAD_MS)
    throw validationError([{ field: 'disclosed_at', message: 'must not be in the future' }]);
  const terms = termsWithBasis(sent);
  const data: DisclosureAdded = {
    ...{ patient_id: patientId, disclosed_at, means, description },
    ...terms,
    recipient: sent.recipient,
  };
  return appendStatement(ports, caller, patientId, 'DisclosureAdded', { ...data });
}

/**
 * States the purpose of a disclosure for which none was given, and returns the id of the event; the entry itself stays as it is. Where
 * it was stated before, the last one counts. Rejects as `addDisclosure` does; with `not_found` when no accounting of the patient lists
 * the entry, and with `conflict` when its purpose was given.
 */
export async function statePurpose(
  ports: DisclosurePorts,
  caller: Caller,
  patientId: string,
  eventId: string,
  input: unknown,
): Promise<string> {
  const terms = termsWithBasis(validate(statedPurposeSchema, input));
  const found = await findDisclosure(ports, caller, patientId, eventId);
  if (found === undefined) throw notFound('Disclosure');
  if (found.purpose !== null && found.purpose_stated === null) throw purposeGiven();
  const data = { patient_id: patientId, event_id: eventId, ...terms };
  return appendStatement(ports, caller, patientId, 'DisclosurePurposeStated', data);
}

/** The refusal to state a purpose that is known. */
export function purposeGiven(): ServiceError {
  return new ServiceError('conflict', 'The purpose of this disclosure was given when it was made.');
}

/** Returns the terms that are set. Throws `validation_failed` for the purpose `other` without a basis: an accounting needs it. */
function termsWithBasis(sent: Parameters<typeof termsOf>[0]) {
  const terms = termsOf(sent) ?? {};
  if (terms.purpose === 'other' && terms.purpose_statement === undefined)
    throw validationError([{ field: 'purpose_statement', message: 'is required for the purpose other' }]);
  return terms;
}

async function appendStatement(
  { eventLog }: Pick<DisclosurePorts, 'eventLog'>,
  caller: Caller,
  patientId: string,
  type: string,
  data: Record<string, unknown>,
): Promise<string> {
  const stream = disclosuresStream(caller.workspace, patientId);
  const earlier = await findPreviousAppend(eventLog, stream, caller);
  if (earlier) return earlier.id;
  const event = newEvent(caller, type, data);
  const read = async () => (await foldStream(eventLog, stream, evolveStatements)) ?? noStatements;
  await appendDecided(
    eventLog,
    stream,
    async () => {
      const before = await read();
      const begun = await patientBegunAt({ eventLog }, caller.workspace, patientId);
      // What was stated about an erased patient goes with its stream: nothing new may follow it.
      if (before.since !== undefined && before.since < begun)
        throw unavailable('stream of the patient that had this id before, which is being erased,');
      return before;
    },
    () => event,
  );
  return event.id;
}

/** A patient's stream, as far as it matters here. */
interface Present {
  version: number;
  /** Position of the first event since the last erasure; undefined for an erased patient. */
  since: Position | undefined;
  /** What an erasure took away, which a legal hold may restore. */
  erased?: { id: string; at: string; since: Position | undefined };
}

function evolvePresent(state: Present = { version: 0, since: undefined }, event: RecordedEvent): Present {
  const version = event.revision + 1;
  const step = erasureStepAfter(state.version, event);
  if (step === 'begun') return { ...state, version };
  if (step === 'done') {
    const erased = { id: String(event.data.erasure_id), at: event.recordedAt, since: state.since };
    return { version, since: undefined, erased };
  }
  const { erased } = state;
  const restored = erased && isRestoring(event, erased.id) ? erased.since : undefined;
  return { ...state, version, since: state.since ?? restored ?? event.position };
}

/** Returns where a patient's events begin. Rejects with `not_found`, `gone`, `unreadable` and `unavailable`. */
async function patientBegunAt(
  { eventLog }: Pick<DisclosurePorts, 'eventLog'>,
  workspace: string,
  id: string,
): Promise<Position> {
  const found = await foldStream(eventLog, recordStream(workspace, patient.kind, id), evolvePresent);
  if (found === undefined) throw notFound(patient.title);
  if (found.since === undefined) throw gone(patient.title, String(found.erased?.at));
  return found.since;
}
