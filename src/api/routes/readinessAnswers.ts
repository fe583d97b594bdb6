import { z } from 'zod';
import { findingAnswers } from '../../domain/events/readinessEvents.ts';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { identifier, requiredDay } from '../../domain/records/schema/fields.ts';
import { exactObject, validate, validationError } from '../../domain/records/schema/validation.ts';
import { answerFinding, problemsOf } from '../../modules/readiness/answerCommands.ts';
import type { FindingAnswers } from '../../modules/readiness/rules/answers.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { accessSubject, pathId, recordPath } from '../schemas/parameters.ts';
import { alwaysTrue, principal, tagOf, timestamp, versionNumber } from '../schemas/records.ts';
import { readJson } from '../server/body.ts';
import { withOptionalIdempotency } from '../server/idempotency.ts';
import { callerOf } from '../server/requestContext.ts';
import type { RecordWritePorts } from './recordSchemas.ts';

const entry = catalogEntry('encounter');
const MOST_TEXT = 1_000;
const MOST_NAME = 200;

const text = (description: string, example: string, most = MOST_TEXT) =>
  z
    .string()
    .trim()
    .min(1)
    .max(most)
    .meta({ description, examples: [example] });

/** The name of the person who is to deal with a finding. */
export const assignee = text('To whom a finding is assigned, as you call them', 'maria', MOST_NAME);

const untilDay = (description: string) => requiredDay('2026-06-30', description);

/** The body of an answer. */
export const answerSchema = exactObject({
  rule: z.string().meta({ description: 'The rule of the finding', examples: ['zip_of_other_state'] }),
  record: exactObject({
    kind: z.enum(catalog.map(({ kind }) => kind)),
    id: identifier("The caller's id of the record", 'patient-1001'),
  })
    .optional()
    .meta({
      description:
        'The record at fault; may be left out where the rule finds something in one record of the encounter only',
    }),
  version: z
    .int({ error: 'must be a whole number' })
    .min(1, { error: 'must be at least 1' })
    .optional()
    .meta({
      description: 'The version of the record at fault that you mean: 412 if it is no longer current',
      examples: [7],
    }),
  answer: z.enum(findingAnswers).meta({
    description:
      '`accepted`: it no longer blocks, until the record has another version or `until` is over; `snoozed`: nobody ' +
      'has to look at it, under the same conditions; `assigned`: to `assigned_to`; `noted`: see `note`; ' +
      '`reopened`: it is no longer accepted or snoozed',
  }),
  reason: text('Why it is accepted; with `accepted`', 'The ZIP code spans two states').optional(),
  until: untilDay(
    'The last day, in the time zone of the workspace, for which it is accepted or snoozed; with these two',
  ).optional(),
  assigned_to: assignee
    .nullable()
    .optional()
    .meta({ description: 'To whom it is assigned, as you call them; `null`: to nobody; with `assigned`' }),
  note: text('What is to be known about it; with `noted`', 'Called the patient').optional(),
}).meta({
  id: 'FindingAnswer',
  description: 'An answer to what a rule finds in a record, for one encounter.',
});

const exampleAnswer: z.infer<typeof answerSchema> = {
  ...{ rule: 'zip_of_other_state', record: { kind: 'patient', id: 'patient-1001' }, version: 7 },
  ...{ answer: 'accepted', reason: 'The ZIP code spans two states', until: '2026-06-30' },
};

const writtenSchema = z
  .object({
    success: alwaysTrue(),
    message: z.string(),
    version: versionNumber.meta({ description: 'The current version of the encounter', examples: [2] }),
    outcome: z.enum(['updated', 'unchanged']).meta({
      description: '`unchanged`: the same was recorded before; nothing was written',
    }),
  })
  .meta({ id: 'FindingAnswerWritten', description: 'An answer to a finding was recorded.' });

/** `POST /integration/encounters/{id}/readiness/answers`. */
const answerReadinessFinding = endpoint({
  method: 'post',
  path: '/integration/encounters/{id}/readiness/answers',
  operationId: 'answerReadinessFinding',
  summary: 'Answer a finding',
  description:
    'Records what was decided about a finding of the encounter: that it is accepted, with a reason and a last ' +
    'day; assigned; noted; or snoozed. An accepted finding does not block. The answer to what a rule finds in ' +
    'a record covers all fields of the record that the rule finds. Each answer is an event, and is erased with the ' +
    'encounter.',
  tag: tagOf(entry),
  permission: 'write',
  takesIdempotencyKey: true,
  params: recordPath(entry),
  body: {
    required: true,
    content: { 'application/json': { schema: answerSchema, example: exampleAnswer } },
  },
  answers: {
    200: {
      description: 'It is durably recorded.',
      schema: writtenSchema,
      example: { success: true, message: 'Finding accepted', version: 2, outcome: 'updated' },
    },
  },
  errors: [
    'InvalidAnswer',
    'RecordNotFound',
    'Erased',
    'NothingFound',
    'VersionConflict',
    'BodyTooLarge',
    'NotJson',
  ],
  subject: ({ req }) => accessSubject('encounter', req.params.id),
  handler: (ports: RecordWritePorts) => async (context) => {
    const input = await readJson(context);
    const given = validate(answerSchema, input);
    const problems = problemsOf(given);
    if (problems.length > 0) throw validationError(problems);
    const id = pathId(context.req, 'id', entry.title);
    const written = await withOptionalIdempotency(ports, context, input, (caller) =>
      answerFinding(ports, caller, id, given),
    );
    if (written.outcome === 'unchanged') ports.tally.add(callerOf(context), 'record.unchanged');
    return { body: { success: true, message: `Finding ${given.answer}`, ...written } } as const;
  },
});

const done = { at: timestamp('When it was recorded'), principal: principal('Who recorded it') };
const day = z.iso
  .date()
  .meta({ description: 'The last day of it, in the time zone of the workspace', examples: ['2026-06-30'] });
const inVersion = versionNumber.meta({ description: 'Of the record at fault', examples: [7] });

/** What was answered to a finding. */
export const answersSchema = z
  .object({
    accepted: z
      .object({ ...done, reason: z.string(), until: day, version: inVersion })
      .optional()
      .meta({ description: 'Holds for this version of the record at fault, and until the end of the day' }),
    snoozed: z.object({ ...done, until: day, version: inVersion }).optional(),
    assigned: z.object({ ...done, to: z.string() }).optional(),
    noted: z.object({ ...done, note: z.string(), version: inVersion }).optional(),
  })
  .meta({
    id: 'FindingAnswers',
    description: 'The last answers to a finding, also those that no longer hold; empty if there were none.',
  });

/** Returns what was answered, as the interface reports it; the names of the principals must have been learnt. */
export function answersView(
  answers: FindingAnswers | undefined,
  names: PrincipalNames,
): z.infer<typeof answersSchema> {
  const view = <Given extends { principal: Parameters<PrincipalNames['nameOf']>[0] }>(given: Given) => ({
    ...given,
    principal: { ...given.principal, name: names.nameOf(given.principal) ?? null },
  });
  const { accepted, snoozed, assigned, noted } = answers ?? {};
  return {
    ...(accepted && { accepted: view(accepted) }),
    ...(snoozed && { snoozed: view(snoozed) }),
    ...(assigned && { assigned: view(assigned) }),
    ...(noted && { noted: view(noted) }),
  };
}

/** The endpoints with which findings are answered. */
export const answerEndpoints = [answerReadinessFinding];
