import { z } from 'zod';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { instantOf } from '../../domain/records/schema/instantOf.ts';
import { validate } from '../../domain/records/schema/validate.ts';
import { readinessAccess } from '../../modules/audit/readinessAccesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { billingPrincipals } from '../../modules/readiness/billing.ts';
import type { CausedFinding } from '../../modules/readiness/ReadinessReplay.ts';
import { readReadiness } from '../../modules/readiness/readReadiness.ts';
import { readinessStates } from '../../modules/readiness/rules/findings.ts';
import { rules } from '../../modules/readiness/rules/index.ts';
import { severities } from '../../modules/readiness/rules/rule.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import type { HistoryPorts } from '../../modules/records/queries/versionPage.ts';
import { principal, timestamp, versionNumber } from '../schemas/answerSchemas.ts';
import { recordPath } from '../schemas/documentedParameters.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { tagOf } from '../schemas/kindNames.ts';
import { accessSubject, momentQuerySchema, pathId, withPlus } from '../schemas/parameters.ts';
import { callerOf } from '../server/exchange.ts';
import { billedSchema, viewBilling } from './billedSchema.ts';
import { exampleSender } from './versionSchemas.ts';

const entry = catalogEntry('encounter');

const recordSchema = z.object({
  kind: z.enum(catalog.map(({ kind }) => kind)),
  id: z.string().meta({ description: "The caller's id of the record" }),
  version: versionNumber,
});

const findingSchema = z
  .object({
    rule: z.enum(rules.map(({ code }) => code)),
    severity: z.enum(severities).meta({
      description: '`blocks`: the payer would refuse the claim; `warns`: it may',
    }),
    text: z.string().meta({ description: 'What is wrong, without any values' }),
    source: z.string().meta({ description: 'The source of the requirement' }),
    field: z.string().meta({ description: 'The field at fault, in dot notation if nested' }),
    record: recordSchema.meta({ description: 'The record at fault, in the version that was evaluated' }),
    billed_version: versionNumber.optional().meta({
      description:
        'For `changed_after_billing`: the version of the record that was billed, or acknowledged since',
      examples: [6],
    }),
    since: timestamp(
      'Since when the finding has existed without interruption: the time of `cause`, or a later time at ' +
        'which it began by itself',
    ),
    cause: recordSchema
      .extend({
        kind: z.enum([...catalog.map(({ kind }) => kind), 'document', 'workspace', 'code_set']).meta({
          description:
            '`workspace`: a rule setting of the workspace; `code_set`: a code set that was loaded, such ' +
            'as `nucc`',
        }),
        event_id: z.uuid(),
        principal: principal('Who did it'),
      })
      .meta({ description: 'The write that caused the finding' }),
  })
  .meta({ id: 'ReadinessFinding', description: 'A problem with billing an encounter.' });

const readinessSchema = z
  .object({
    id: z.string().meta({ description: "The caller's id of the encounter", examples: ['encounter-4001'] }),
    version: versionNumber,
    state: z.enum(readinessStates).meta({
      description:
        '`ready`: nothing blocks billing; `blocked`: something does; `not_completed`: `is_completed` is ' +
        'not `true`, regardless of findings; `voided`: `voided_at` is set, regardless of everything else',
    }),
    as_of: timestamp('The time that this describes'),
    billed: billedSchema.nullable().meta({ description: 'The last billing; `null` if there was none' }),
    findings: z.array(findingSchema).meta({ description: 'Blocking findings come first' }),
  })
  .meta({
    id: 'EncounterReadiness',
    description: 'Whether an encounter can be billed, and what is in the way.',
  });

const example: z.infer<typeof readinessSchema> = {
  ...{ id: 'encounter-4001', version: 2, state: 'blocked', as_of: '2026-03-15T08:00:00.000Z' },
  billed: null,
  findings: [
    {
      ...{ rule: 'policy_number_missing', severity: 'blocks' },
      text: 'A claim needs the policy number. This field is empty.',
      source: 'X12 005010X222A1 (837P), loop 2010BA, NM109',
      field: 'primary_insurance.policy_number',
      record: { kind: 'patient', id: 'patient-1001', version: 7 },
      since: '2026-03-14T16:05:12.480Z',
      cause: {
        ...{ kind: 'patient', id: 'patient-1001', version: 7 },
        event_id: '019cebb0-9d1f-7b52-8e60-3a9c41d7f215',
        principal: exampleSender.principal as z.infer<ReturnType<typeof principal>>,
      },
    },
  ],
};

const querySchema = momentQuerySchema.pick({ as_of: true });

/** `GET /integration/encounters/{id}/readiness`. */
export const readEncounterReadiness = endpoint({
  method: 'get',
  path: '/integration/encounters/{id}/readiness',
  operationId: 'getEncounterReadiness',
  summary: 'Find out whether an encounter can be billed',
  description:
    'What billing would refuse about the encounter, its patient, providers and facility, and the payer of ' +
    'the primary insurance: for each finding, the rule, the field and record at fault, since when it has ' +
    'existed, and which write by whom caused it. With `as_of`, the result is based on everything recorded ' +
    'up to that time.',
  tag: tagOf(entry),
  permission: 'read',
  params: recordPath(entry),
  query: querySchema,
  answers: {
    200: { description: 'The readiness of the encounter.', schema: readinessSchema, example },
  },
  errors: ['RecordNotFound', 'Erased'],
  subject: ({ req }) => accessSubject('encounter', req.params.id),
  handler: (ports: HistoryPorts & QueryPorts) => async (exchange) => {
    const { eventLog, names } = ports;
    const id = pathId(exchange.req, 'id', entry.title);
    const caller = callerOf(exchange);
    const { as_of: asked } = validate(querySchema, withPlus(exchange.req, 'as_of'));
    const asOf = asked === undefined ? undefined : instantOf(asked);
    const readiness = await readReadiness(ports, caller.workspace, id, asOf);
    const { encounter, state, at, findings, billing } = readiness;
    await names.learn([
      ...findings.map(({ cause }) => cause.event.metadata.principal),
      ...billingPrincipals(billing),
    ]);
    await recordAccess(eventLog, caller, readinessAccess(readiness, asked));
    return {
      body: {
        id,
        version: encounter.version,
        state,
        as_of: new Date(at).toISOString(),
        billed: billing === undefined ? null : viewBilling(billing, names),
        findings: findings.map((finding) => view(finding, names)),
      },
    };
  },
});

function view(
  { rule, severity, text, field, record, billedVersion, since, cause }: CausedFinding,
  names: HistoryPorts['names'],
): z.infer<typeof findingSchema> {
  const { event } = cause;
  const { principal: sender } = event.metadata;
  return {
    ...{ rule: rule.code, severity, text, source: rule.source, field },
    record: { kind: record.kind, id: record.id, version: record.version },
    ...(billedVersion !== undefined && { billed_version: billedVersion }),
    since,
    cause: {
      ...{ kind: cause.kind, id: cause.id, version: cause.version },
      event_id: event.id,
      principal: { ...sender, name: names.nameOf(sender) ?? null },
    },
  };
}
