import { z } from 'zod';
import { type DisclosureAdded, disclosureMeans, purposes } from '../../domain/events/payloads.ts';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { narrowedViews } from '../../domain/records/schema/deidentification.ts';
import { identifier, requiredDate } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import {
  addDisclosure,
  addedDisclosureSchema,
  statedPurposeSchema,
  statePurpose,
} from '../../modules/audit/disclosureCommands.ts';
import {
  type Disclosure,
  type DisclosurePorts,
  type DisclosureQuery,
  disclosureForms,
  disclosureStatuses,
  readDisclosures,
} from '../../modules/audit/disclosures.ts';
import type { FoundKey } from '../../modules/auth/keyDirectory.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { exampleRequestId } from '../schemas/examples.ts';
import { accessSubject, pageQuerySchema, pathId, recordPath, withPlus } from '../schemas/parameters.ts';
import { alwaysTrue, pageOf, principal, tagOf, timestamp } from '../schemas/records.ts';
import { requirePermission } from '../server/admission.ts';
import { readJson } from '../server/body.ts';
import { type IdempotencyPorts, withOptionalIdempotency } from '../server/idempotency.ts';
import { callerOf } from '../server/requestContext.ts';
import { exampleSender } from './history.ts';

const entry = catalogEntry('patient');
const collection = '/integration/patients/{id}/disclosures';

const querySchema = pageQuerySchema.extend({
  form: z.enum(disclosureForms).default('accounting').meta({
    description:
      '`accounting`: the disclosures that 45 CFR 164.528 covers; `access_report`: everybody who received data, or may have',
  }),
  from: requiredDate(
    '2026-01-01',
    'Disclosed at or after this time; default: six years ago, or the beginning for an `access_report`',
  ).optional(),
  to: requiredDate('2026-04-01', 'Disclosed before this time; default: now').optional(),
  omit_exempt: z
    .enum(['true', 'false'])
    .optional()
    .meta({ description: 'Of an accounting: leaves out what is exempt' }),
});

const text = z.string().nullable();
const thingSchema = z.object({
  kind: z.string(),
  id: z.string(),
  document_id: z.string().optional(),
  versions: z.string().optional().meta({ description: '`1-3, 5`, where they are known' }),
});

const disclosureSchema = z
  .object({
    disclosed_at: z.string().meta({ description: 'When; of a disclosure that was added, as it was sent' }),
    action: z.string().meta({
      description: 'As in the audit trail; `DisclosureAdded` for one that the service did not make',
      examples: ['record.read'],
    }),
    means: z.enum(disclosureMeans).nullable().meta({ description: 'How, if not by the service' }),
    principal: principal('Who read or sent the data, or added the disclosure'),
    webhook_id: text,
    description: z.string().meta({
      description: 'What was disclosed, in words: no values but dates of service and categories of documents',
    }),
    what: z.array(thingSchema).meta({ description: 'The same by ids, at most 20' }),
    what_more: z.int().meta({ description: 'How many more there were' }),
    found_by: z.enum(['id', 'range']).meta({
      description:
        '`range`: it lies where a list, stream, webhook or export was shown events, and may have been left out',
    }),
    view: z.enum(['reference', ...narrowedViews]).nullable(),
    recipient: text,
    recipient_address: text,
    purpose: z.enum(purposes).nullable().meta({ description: '`null`: not given' }),
    purpose_statement: text,
    purpose_stated: z
      .object({ at: timestamp('When'), principal: principal('Who stated it'), event_id: z.uuid() })
      .nullable()
      .meta({ description: 'By whom the purpose was stated later, if it was' }),
    status: z.enum(disclosureStatuses),
    exemption: text,
    client_ip: text,
    request_id: z.uuid(),
    event_id: z.uuid().meta({ description: 'The entry of the audit trail' }),
    position: z.int(),
  })
  .meta({ id: 'Disclosure', description: "An access to a patient's data, as disclosure reports list it." });

function disclosureView({ purpose, ...disclosure }: Disclosure) {
  return { ...disclosure, purpose: purpose as (DisclosureAdded['purpose'] & string) | null };
}

const exampleDisclosure = {
  ...{ disclosed_at: '2026-03-14', action: 'DisclosureAdded', means: 'fax' },
  principal: exampleSender.principal as z.infer<typeof disclosureSchema>['principal'],
  webhook_id: null,
  description: 'Immunization record of 2025',
  what: [{ kind: 'patient', id: 'patient-1001' }],
  ...{ what_more: 0, found_by: 'id', view: null },
  ...{ recipient: 'State registry', recipient_address: '1 Capitol Ave, Lincoln, NE 68509' },
  ...{ purpose: 'other', purpose_statement: 'Reports of immunizations that state law requires' },
  ...{ purpose_stated: null, status: 'accountable', exemption: null, client_ip: '203.0.113.7' },
  ...{ request_id: exampleRequestId, event_id: exampleRequestId, position: 8_136 },
} as const satisfies z.infer<typeof disclosureSchema>;

const { disclosed_at, means, description, recipient, recipient_address, purpose, purpose_statement } =
  exampleDisclosure;
const exampleAdded = {
  disclosed_at,
  means,
  description,
  recipient,
  recipient_address,
  purpose,
  purpose_statement,
};

const pageSchema = pageOf(disclosureSchema)
  .extend({
    organization: z
      .string()
      .meta({ description: "The workspace's organization; without one, the workspace's id" }),
    patient: z.object({
      id: z.string(),
      name: text.meta({ description: 'As it is now; `null` for an erased patient' }),
      date_of_birth: text,
    }),
    from: text.meta({ description: 'The beginning of the period' }),
    to: text,
  })
  .meta({ id: 'DisclosurePage', description: 'A page of a disclosure report.' });

/** `GET /integration/patients/{id}/disclosures`. */
const readPatientDisclosures = endpoint({
  method: 'get',
  path: collection,
  operationId: 'getPatientDisclosures',
  summary: 'Account for disclosures of a patient',
  description:
    'To whom data of the patient, its encounters and their documents went, newest first, with what was disclosed in words: an ' +
    'accounting of disclosures (45 CFR 164.528), or an access report. It also requires a permission to read patients. A page ' +
    'may have fewer items than `limit`, and more where disclosures were added. The report is itself recorded in the audit trail.',
  tag: tagOf(entry),
  permission: 'audit',
  params: recordPath(entry),
  query: querySchema,
  answers: {
    200: {
      description: 'A page of the report.',
      schema: pageSchema,
      example: {
        ...{ organization: 'North Clinic', from: '2020-03-14T00:00:00.000Z', to: null },
        patient: { id: 'patient-1001', name: 'Maria Lopez', date_of_birth: '1984-02-29' },
        ...{ items: [exampleDisclosure], next_page_token: null },
      },
    },
  },
  errors: ['RecordNotFound'],
  subject: ({ req }) => accessSubject(entry.kind, req.params.id),
  handler: (ports: DisclosurePorts) => async (context) => {
    const patientId = pathId(context.req, 'id', entry.title);
    requirePermission(context.found as FoundKey, onKind('read', entry.kind));
    const sent = validate(querySchema, withPlus(context.req, 'from', 'to'));
    const asked: DisclosureQuery = {
      ...{ patientId, form: sent.form, omitExempt: sent.omit_exempt === 'true' },
      ...{ from: toInstant(sent.from), to: toInstant(sent.to) },
    };
    const request = { limit: sent.limit, pageToken: sent.page_token };
    const page = await readDisclosures(ports, callerOf(context), asked, request);
    const { items, next_page_token, query, head } = page;
    const period = { from: query.from ?? null, to: query.to ?? null };
    return { body: { ...head, ...period, items: items.map(disclosureView), next_page_token } };
  },
});

function toInstant(sent: string | undefined): string | undefined {
  return sent && new Date(instantOf(sent)).toISOString();
}

const writtenSchema = z
  .object({
    success: alwaysTrue(),
    message: z.string(),
    event_id: z.uuid().meta({ description: 'The event in the audit trail', examples: [exampleRequestId] }),
  })
  .meta({ id: 'DisclosureWritten', description: 'It was recorded.' });

const written = (message: string) => ({
  200: {
    description: 'It is durably recorded.',
    schema: writtenSchema,
    example: { success: true, message, event_id: exampleRequestId },
  },
});

const ADDED = 'Disclosure added';
const STATED = 'Purpose stated';

interface WritePorts extends DisclosurePorts, IdempotencyPorts {}

/** `POST /integration/patients/{id}/disclosures`. */
const addPatientDisclosure = endpoint({
  method: 'post',
  path: collection,
  operationId: 'addPatientDisclosure',
  summary: 'Add a disclosure',
  description:
    'Adds a disclosure that the service did not make, such as one by telephone, fax, mail or on paper, to the accounting of ' +
    'disclosures of the patient. It is an event, and is erased with the patient.',
  tag: tagOf(entry),
  permission: onKind('write', entry.kind),
  takesIdempotencyKey: true,
  params: recordPath(entry),
  body: {
    required: true,
    content: { 'application/json': { schema: addedDisclosureSchema, example: exampleAdded } },
  },
  answers: written(ADDED),
  errors: ['InvalidDisclosure', 'RecordNotFound', 'Erased', 'IdempotencyKeyInUse', 'BodyTooLarge', 'NotJson'],
  subject: ({ req }) => accessSubject(entry.kind, req.params.id),
  handler: (ports: WritePorts) => async (context) => {
    const id = pathId(context.req, 'id', entry.title);
    const input = await readJson(context);
    const event_id = await withOptionalIdempotency(ports, context, input, (caller) =>
      addDisclosure(ports, caller, id, input),
    );
    return { body: { success: true, message: ADDED, event_id } } as const;
  },
});

const purposePath = recordPath(entry).extend({
  eventId: identifier('The `event_id` of the disclosure', exampleRequestId),
});

/** `POST /integration/patients/{id}/disclosures/{eventId}/purpose`. */
const stateDisclosurePurpose = endpoint({
  method: 'post',
  path: `${collection}/{eventId}/purpose`,
  operationId: 'stateDisclosurePurpose',
  summary: 'State the purpose of a disclosure',
  description:
    'States the purpose of a disclosure for which none was given. The entry stays as it is; the accounting of the patient shows ' +
    'the purpose with it, and by whom it was stated. The last one counts. It is an event, and is erased with the patient.',
  tag: tagOf(entry),
  permission: onKind('write', entry.kind),
  takesIdempotencyKey: true,
  params: purposePath,
  body: {
    required: true,
    content: {
      'application/json': { schema: statedPurposeSchema, example: { purpose: 'other', purpose_statement } },
    },
  },
  answers: written(STATED),
  errors: ['InvalidDisclosure', 'DisclosureNotFound', 'Erased', 'PurposeGiven', 'BodyTooLarge', 'NotJson'],
  subject: ({ req }) => accessSubject(entry.kind, req.params.id),
  handler: (ports: WritePorts) => async (context) => {
    const id = pathId(context.req, 'id', entry.title);
    const eventId = pathId(context.req, 'eventId', 'Disclosure');
    const input = await readJson(context);
    const event_id = await withOptionalIdempotency(ports, context, input, (caller) =>
      statePurpose(ports, caller, id, eventId, input),
    );
    return { body: { success: true, message: STATED, event_id } } as const;
  },
});

export const disclosureEndpoints = [readPatientDisclosures, addPatientDisclosure, stateDisclosurePurpose];
