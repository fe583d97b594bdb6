import { z } from 'zod';
import type { Caller } from '../../domain/events/newEvent.ts';
import { claimOutcomes, claimParts, outcomeSources } from '../../domain/events/readinessEvents.ts';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { outcomes } from '../../domain/records/fold.ts';
import { identifier } from '../../domain/records/schema/fields.ts';
import { exactObject, validate } from '../../domain/records/schema/validation.ts';
import type { Billing } from '../../modules/readiness/billing.ts';
import {
  acknowledgeChanges,
  type BillingWritten,
  recordBilled,
  reportOutcome,
} from '../../modules/readiness/billingCommands.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { accessSubject, pathId, recordPath } from '../schemas/parameters.ts';
import {
  alwaysTrue,
  fieldMessageSchema,
  principal,
  tagOf,
  timestamp,
  versionNumber,
} from '../schemas/records.ts';
import { readJson } from '../server/body.ts';
import { withOptionalIdempotency } from '../server/idempotency.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';
import type { RecordWritePorts } from './recordSchemas.ts';

const entry = catalogEntry('encounter');

/** A claim's id, as its sender calls it. */
const claimId = identifier("The caller's id for the claim that was sent", 'claim-7001');

/** The version of the encounter, where one is requested. */
const wantedVersion = z
  .int({ error: 'must be a whole number' })
  .min(1, { error: 'must be at least 1' })
  .optional()
  .meta({
    description: 'The version of the encounter that you mean: 412 if it is no longer current',
    examples: [2],
  });

/** The versions on which a claim is based. */
const usedVersionsSchema = z
  .array(
    z
      .object({
        part: z.enum(claimParts).meta({ description: 'The role of the record in the claim' }),
        kind: z.enum(catalog.map(({ kind }) => kind)),
        id: z.string().meta({ description: "The caller's id of the record" }),
        version: versionNumber,
      })
      .meta({ id: 'UsedVersion', description: 'A record, in the version that a claim is based on.' }),
  )
  .meta({ description: 'The versions that the claim is based on; roles that it does not have are omitted' });

const exampleVersions: z.infer<typeof usedVersionsSchema> = [
  { part: 'encounter', kind: 'encounter', id: 'encounter-4001', version: 2 },
  { part: 'patient', kind: 'patient', id: 'patient-1001', version: 7 },
  { part: 'payer', kind: 'payer', id: 'payer-aetna', version: 1 },
];

/** The response to a report on an encounter in billing. */
const billingWrittenSchema = z
  .object({
    success: alwaysTrue(),
    message: z.string(),
    version: versionNumber.meta({ description: 'The current version of the encounter', examples: [2] }),
    outcome: z.enum(outcomes).meta({
      description:
        '`created`: billed for the first time; `updated`: something had been recorded before; ' +
        '`unchanged`: everything was already recorded',
    }),
    versions: usedVersionsSchema,
    warnings: z.array(fieldMessageSchema).meta({
      description: 'The findings of its readiness, prefixed with the kind of the record: `patient.zip_code`',
    }),
  })
  .meta({ id: 'BillingWritten', description: 'Something was recorded about the billing of an encounter.' });

const exampleWritten: z.infer<typeof billingWrittenSchema> = {
  ...{ success: true, message: 'Encounter billed', version: 2, outcome: 'created' },
  versions: exampleVersions,
  warnings: [],
};

/** What both writes have in common. */
const billingEndpoint = {
  ...({ method: 'post', tag: tagOf(entry), permission: 'write', takesIdempotencyKey: true } as const),
  params: recordPath(entry),
  subject: ({ req }: RequestContext) => accessSubject('encounter', req.params.id),
} as const;

/**
 * Does what both writes have in common, once for each `Idempotency-Key`; one that changed nothing is counted for the
 * audit trail.
 */
async function billingOnce(
  ports: RecordWritePorts,
  context: RequestContext,
  input: unknown,
  message: string,
  write: (caller: Caller, encounterId: string) => Promise<BillingWritten>,
) {
  const id = pathId(context.req, 'id', entry.title);
  const written = await withOptionalIdempotency(ports, context, input, (caller) => write(caller, id));
  const { outcome } = written;
  if (outcome === 'unchanged') ports.tally.add(callerOf(context), 'record.unchanged');
  return { body: { success: true, message, ...written } } as const;
}

const MAX_REASON = 1_000;

/** The body of an acknowledgement. */
export const acknowledgementSchema = exactObject({
  reason: z
    .string()
    .trim()
    .min(1)
    .max(MAX_REASON)
    .meta({
      description: 'Why no new claim is sent',
      examples: ['The payer has accepted the claim as it was'],
    }),
  version: wantedVersion,
}).meta({
  id: 'BillingAcknowledgement',
  description: 'Acknowledges that changes made after billing need no new claim.',
});

/** `POST /integration/encounters/{id}/billed/acknowledge`. */
const acknowledgeBillingChanges = endpoint({
  ...billingEndpoint,
  path: '/integration/encounters/{id}/billed/acknowledge',
  operationId: 'acknowledgeBillingChanges',
  summary: 'Acknowledge changes made after an encounter was billed',
  description:
    'Closes the current `changed_after_billing` findings of the encounter, with a reason. Later changes ' +
    'are findings again. If nothing that a claim contains has changed, nothing is recorded.',
  body: {
    required: true,
    content: {
      'application/json': {
        schema: acknowledgementSchema,
        example: { reason: 'The payer has accepted the claim as it was' },
      },
    },
  },
  answers: {
    200: {
      description: 'It is durably recorded.',
      schema: billingWrittenSchema,
      example: { ...exampleWritten, message: 'Changes acknowledged', outcome: 'updated' },
    },
  },
  errors: [
    'InvalidBilling',
    'RecordNotFound',
    'Erased',
    'NotBilled',
    'VersionConflict',
    'BodyTooLarge',
    'NotJson',
  ],
  handler: (ports: RecordWritePorts) => async (context) => {
    const input = await readJson(context);
    const acknowledgement = validate(acknowledgementSchema, input);
    return billingOnce(ports, context, input, 'Changes acknowledged', (caller, id) =>
      acknowledgeChanges(ports, caller, id, acknowledgement),
    );
  },
});

const done = {
  at: timestamp('When it was recorded'),
  principal: principal('Who recorded it'),
  versions: usedVersionsSchema,
};

/** One of at most so many short codes of a kind. */
const code = (pattern: RegExp, what: string, example: string) =>
  z
    .string()
    .regex(pattern, { error: `must be ${what}` })
    .meta({ examples: [example] });
const MOST_CODES = 100;
const codeList = <Code extends z.ZodType>(schema: Code, description: string) =>
  z.array(schema).min(1).max(MOST_CODES).optional().meta({ description });

/** What a payer or clearinghouse answered to a claim. */
const outcomeShape = {
  source: z.enum(outcomeSources).meta({ description: 'The X12 transaction that it comes from, or `other`' }),
  outcome: z.enum(claimOutcomes).meta({
    description:
      '`accepted`; `rejected`: the payer has not taken the claim in; `denied`: the payer does not pay; `paid`',
  }),
  statuses: codeList(
    exactObject({
      category: code(/^[A-Z]\d{1,2}$/, 'a category, such as A7', 'A7'),
      code: code(/^\d{1,4}$/, 'a status code of up to four digits', '562'),
      entity: code(/^[0-9A-Z]{1,3}$/, 'an entity code, such as 85', '85').optional(),
    }),
    'The status codes of a 277CA (STC), as sent',
  ),
  adjustments: codeList(
    exactObject({
      group: code(/^[A-Z]{2}$/, 'a group of two letters, such as CO', 'CO'),
      code: code(/^[A-Z]?\d{1,3}$/, 'a reason code, such as 16', '16'),
    }),
    'The groups and reason codes of an 835 (CAS), as sent',
  ),
  remarks: codeList(
    code(/^[A-Z]{1,2}\d{1,4}$/, 'a remark code, such as N290', 'N290'),
    'The remark codes of an 835 (LQ, MIA, MOA), as sent',
  ),
  payer_claim_number: identifier(
    'The number that the payer gave the claim: a replacement refers to it',
    '2026031400123',
  ).optional(),
};

/** The body of the report. */
const outcomeSchema = exactObject(outcomeShape).meta({
  id: 'ClaimOutcome',
  description: 'What became of a claim: codes as they were sent, without what they mean.',
});

/** What was billed for an encounter. */
export const billedSchema = z
  .object({
    claim_id: claimId,
    ...done,
    acknowledged: z
      .object({ ...done, reason: z.string().meta({ description: 'The reason, as sent' }) })
      .optional()
      .meta({
        description:
          'The last acknowledgment of changes since then, up to these versions; omitted if there was none',
      }),
    outcome: z
      .object({ at: done.at, principal: done.principal, ...outcomeShape })
      .optional()
      .meta({ description: 'What became of the claim last; omitted if nothing was reported' }),
  })
  .meta({ id: 'Billed', description: 'The last billing of an encounter.' });

/** Returns what was billed, as the interface reports it; the names of the principals must have been learnt. */
export function viewBilling(
  { claimId: claim_id, acknowledged, outcome, ...billed }: Billing,
  names: PrincipalNames,
): z.infer<typeof billedSchema> {
  const named = (by: Billing['principal']) => ({ ...by, name: names.nameOf(by) ?? null });
  const view = ({ at, principal: by, versions }: Pick<Billing, 'at' | 'principal' | 'versions'>) => ({
    ...{ at, principal: named(by), versions: [...versions] },
  });
  return {
    ...{ claim_id, ...view(billed) },
    ...(acknowledged && { acknowledged: { ...view(acknowledged), reason: acknowledged.reason } }),
    ...(outcome && { outcome: { ...outcome, principal: named(outcome.principal) } }),
  };
}

const billedClaimSchema = exactObject({ claim_id: claimId, version: wantedVersion }).meta({
  id: 'BilledClaim',
  description: 'A claim that was sent for an encounter.',
});

/** `POST /integration/encounters/{id}/billed`. */
const recordEncounterBilled = endpoint({
  ...billingEndpoint,
  path: '/integration/encounters/{id}/billed',
  operationId: 'recordEncounterBilled',
  summary: 'Record that an encounter was billed',
  description:
    'Records which claim was sent for the encounter, with the versions of all records that it is based on ' +
    'at that moment. If data that a claim contains changes later, the readiness of the encounter has the ' +
    'finding `changed_after_billing` until the encounter is billed again or the change is acknowledged. ' +
    'An encounter that is not ready can also be recorded as billed: `warnings` lists the findings. A void ' +
    'encounter is refused. Sending the same claim with the same versions again changes nothing.',
  body: {
    required: true,
    content: {
      'application/json': { schema: billedClaimSchema, example: { claim_id: 'claim-7001', version: 2 } },
    },
  },
  answers: {
    200: { description: 'It is durably recorded.', schema: billingWrittenSchema, example: exampleWritten },
  },
  errors: [
    'InvalidBilling',
    'RecordNotFound',
    'Erased',
    'VoidEncounter',
    'VersionConflict',
    'BodyTooLarge',
    'NotJson',
  ],
  handler: (ports: RecordWritePorts) => async (context) => {
    const input = await readJson(context);
    const claim = validate(billedClaimSchema, input);
    return billingOnce(ports, context, input, 'Encounter billed', (caller, id) =>
      recordBilled(ports, caller, id, claim),
    );
  },
});

const exampleOutcome: z.infer<typeof outcomeSchema> = {
  ...{ source: '277CA', outcome: 'rejected' },
  statuses: [{ category: 'A7', code: '562', entity: '85' }],
};

/** `POST /integration/encounters/{id}/billed/{claim_id}/outcome`. */
const reportClaimOutcome = endpoint({
  ...billingEndpoint,
  path: '/integration/encounters/{id}/billed/{claim_id}/outcome',
  operationId: 'reportClaimOutcome',
  summary: 'Record what became of a claim',
  description:
    'Records what a payer or clearinghouse answered to a claim that was reported for the encounter, with the codes ' +
    'of a 277CA or 835 as sent. While the last claim is rejected or denied, the encounter has the state `rejected`, ' +
    'until it is billed again. A rejected claim does not count as filed in time, nor as billed where another ' +
    'encounter repeats the visit. Sending the same again changes nothing.',
  params: recordPath(entry).extend({ claim_id: claimId }),
  body: {
    required: true,
    content: { 'application/json': { schema: outcomeSchema, example: exampleOutcome } },
  },
  answers: {
    200: {
      description: 'It is durably recorded.',
      schema: billingWrittenSchema.pick({ success: true, message: true, version: true, outcome: true }).meta({
        id: 'ClaimOutcomeWritten',
        description: 'What became of a claim was recorded.',
      }),
      example: { success: true, message: 'Outcome recorded', version: 2, outcome: 'created' },
    },
  },
  errors: ['InvalidBilling', 'ClaimNotFound', 'Erased', 'IdempotencyKeyInUse', 'BodyTooLarge', 'NotJson'],
  handler: (ports: RecordWritePorts) => async (context) => {
    const input = await readJson(context);
    const answer = validate(outcomeSchema, input);
    const id = pathId(context.req, 'id', entry.title);
    const claim = pathId(context.req, 'claim_id', 'Claim');
    const written = await withOptionalIdempotency(ports, context, input, (caller) =>
      reportOutcome(ports, caller, id, claim, answer),
    );
    if (written.outcome === 'unchanged') ports.tally.add(callerOf(context), 'record.unchanged');
    return { body: { success: true, message: 'Outcome recorded', ...written } } as const;
  },
});

/** The endpoints with which billing reports. */
export const billingEndpoints = [recordEncounterBilled, acknowledgeBillingChanges, reportClaimOutcome];
