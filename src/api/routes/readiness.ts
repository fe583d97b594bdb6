import { z } from 'zod';
import { claimOutcomes, readinessStates } from '../../domain/events/readinessEvents.ts';
import { catalog, catalogEntry } from '../../domain/records/catalog.ts';
import { identifier, requiredDay } from '../../domain/records/schema/fields.ts';
import { instantOf } from '../../domain/records/schema/isoDates.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { readinessAccess, worklistAccesses } from '../../modules/audit/accesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { billingPrincipals } from '../../modules/readiness/billing.ts';
import { shownCounts } from '../../modules/readiness/counts.ts';
import { daysLeft } from '../../modules/readiness/filingAges.ts';
import { readReadiness } from '../../modules/readiness/queries.ts';
import type { CausedFinding } from '../../modules/readiness/replay.ts';
import { type AllAnswers, answerKey, answerPrincipals } from '../../modules/readiness/rules/answers.ts';
import { codesFor } from '../../modules/readiness/rules/codes.ts';
import { filingLimitSchema } from '../../modules/readiness/rules/filingLimits.ts';
import { ruleOf } from '../../modules/readiness/rules/index.ts';
import { ruleCodesSchema } from '../../modules/readiness/rules/payerRuleData.ts';
import { isPayerRuleCode } from '../../modules/readiness/rules/payerRules.ts';
import { ownerOf, owners, severities } from '../../modules/readiness/rules/rule.ts';
import { readWorklist, type Worklist, type WorklistProgress } from '../../modules/readiness/worklist.ts';
import { readWorklistAsOf } from '../../modules/readiness/worklistAsOf.ts';
import type { WorklistSelection } from '../../modules/readiness/worklistFanOut.ts';
import {
  isAnswered,
  ownerOfFinding,
  type WorklistEntry,
  type WorklistFinding,
} from '../../modules/readiness/worklistModel.ts';
import type { HistoryPorts } from '../../modules/records/queries/history.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { endpoint } from '../schemas/endpoint.ts';
import {
  accessSubject,
  asOfQuerySchema,
  momentQuerySchema,
  pageQuerySchema,
  pathId,
  recordPath,
  requestedAsOf,
  withPlus,
} from '../schemas/parameters.ts';
import { pageOf, principal, tagOf, timestamp, versionNumber } from '../schemas/records.ts';
import { callerOf } from '../server/requestContext.ts';
import { billedSchema, viewBilling } from './billing.ts';
import { exampleSender } from './history.ts';
import { answersSchema, answersView, assignee } from './readinessAnswers.ts';

const entry = catalogEntry('encounter');

const recordSchema = z.object({
  kind: z.enum(catalog.map(({ kind }) => kind)),
  id: z.string().meta({ description: "The caller's id of the record" }),
  version: versionNumber,
});

/** Who puts a finding right. */
export const ownerSchema = z.enum(owners).meta({
  description:
    'Who puts it right: `registration` the patient and coverage, `clinician` the encounter, `credentialing` ' +
    'the provider, `practice` the facility, `billing` the payer and the claim',
});

/** The code of a rule. */
export const ruleCode = z
  .string()
  .refine((code) => ruleOf(code) !== undefined || isPayerRuleCode(code), {
    error: 'must be the code of a rule: of the service, or payer. and the id of a rule of a payer',
  })
  .meta({
    description: 'The code of a rule of the service; or of a rule of a payer: `payer.` and its id',
    examples: ['policy_number_missing'],
  });

const findingSchema = z
  .object({
    rule: ruleCode,
    severity: z.enum(severities).meta({
      description: '`blocks`: the payer would refuse the claim; `warns`: it may',
    }),
    owner: ownerSchema,
    text: z.string().meta({ description: 'What is wrong, without any values' }),
    source: z.string().meta({ description: 'The source of the requirement' }),
    codes: ruleCodesSchema,
    field: z.string().meta({ description: 'The field at fault, in dot notation if nested' }),
    record: recordSchema.meta({ description: 'The record at fault, in the version that was evaluated' }),
    claim_id: z
      .string()
      .optional()
      .meta({
        description: 'For `duplicate_of_billed`: the claim by which the other encounter was billed',
        examples: ['claim-1'],
      }),
    billed_version: versionNumber.optional().meta({
      description:
        'For `changed_after_billing`: the version of the record that was billed, or acknowledged since',
      examples: [6],
    }),
    since: timestamp(
      'Since when the finding has existed without interruption: the time of `cause`, or a later time at ' +
        'which it began without a write',
    ),
    cause: recordSchema
      .extend({
        kind: z.enum([...catalog.map(({ kind }) => kind), 'document', 'workspace', 'code_set']).meta({
          description:
            '`workspace`: a rule setting of the workspace; `code_set`: a code set that was loaded, such ' +
            'as `nppes`',
        }),
        event_id: z.uuid(),
        principal: principal('Who did it'),
      })
      .meta({ description: 'The write that caused the finding' }),
    answers: answersSchema,
  })
  .meta({ id: 'ReadinessFinding', description: 'A problem with billing an encounter.' });

const repairSchema = z
  .object({
    field: z.string().meta({ description: 'The field, in dot notation if nested', examples: ['state'] }),
    from: z.string().meta({ description: 'The value of the record', examples: ['ma'] }),
    value: z.string().meta({ description: 'The value that a claim carries', examples: ['MA'] }),
    record: recordSchema,
  })
  .meta({ id: 'ReadinessRepair', description: 'A value that a claim carries in another form.' });

/** What is left of the time in which a payer takes a claim. */
export const filingSchema = z
  .object({
    limit: filingLimitSchema.meta({
      description: 'How long after the day of service the payer takes a claim, as an ISO 8601 duration',
      examples: ['P1Y'],
    }),
    last_day: z.iso.date().meta({
      description:
        'The last day, in the time zone of the workspace, on which the payer of the primary insurance takes a claim',
      examples: ['2027-03-14'],
    }),
    days_left: z.int().meta({
      description: 'Days up to then: 0 on the last day, negative once it has passed',
      examples: [364],
    }),
  })
  .nullable()
  .meta({
    description:
      '`null` if no filing limit of the payer is known, it got a claim for the encounter in time, or the patient pays',
  });

/** Returns what is left, on a day, of the time in which a payer takes a claim. */
export function filingView(filing: WorklistEntry['filing'], today: string): z.infer<typeof filingSchema> {
  if (filing === undefined) return null;
  return { ...filing, days_left: daysLeft(filing.last_day, today) };
}

const readinessSchema = z
  .object({
    id: z.string().meta({ description: "The caller's id of the encounter", examples: ['encounter-4001'] }),
    version: versionNumber,
    state: z.enum(readinessStates).meta({
      description:
        '`ready`: nothing blocks billing; `self_pay`: the same, and the patient pays: no claim is to be ' +
        'sent; `blocked`: something blocks billing; `rejected`: the last claim was ' +
        'rejected or denied, whatever blocks the next one; `not_completed`: `is_completed` is ' +
        'not `true`, regardless of findings; `voided`: `voided_at` is set, regardless of everything else',
    }),
    as_of: timestamp('The time that this describes'),
    billed: billedSchema.nullable().meta({ description: 'The last billing; `null` if there was none' }),
    filing: filingSchema,
    findings: z.array(findingSchema).meta({ description: 'Blocking findings come first' }),
    repairs: z.array(repairSchema).meta({
      description:
        'Values that a claim carries in another form: case, dashes, blanks and spellings that leave no doubt are no ' +
        'findings. The records keep what was sent',
    }),
  })
  .meta({
    id: 'EncounterReadiness',
    description: 'Whether an encounter can be billed, and what is in the way.',
  });

const readinessExample: z.infer<typeof readinessSchema> = {
  ...{ id: 'encounter-4001', version: 2, state: 'blocked', as_of: '2026-03-15T08:00:00.000Z' },
  billed: null,
  filing: { limit: 'P1Y', last_day: '2027-03-14', days_left: 364 },
  findings: [
    {
      ...{ rule: 'policy_number_missing', severity: 'blocks', owner: 'registration' },
      text: 'A claim needs the policy number. This field is empty.',
      source: 'X12 005010X222A1 (837P), loop 2010BA, NM109',
      codes: { status: ['164'], carc: ['31'], rarc: ['N382'], box: ['1a'] },
      field: 'primary_insurance.policy_number',
      record: { kind: 'patient', id: 'patient-1001', version: 7 },
      since: '2026-03-14T16:05:12.480Z',
      cause: {
        ...{ kind: 'patient', id: 'patient-1001', version: 7 },
        event_id: '019cebb0-9d1f-7b52-8e60-3a9c41d7f215',
        principal: exampleSender.principal as z.infer<ReturnType<typeof principal>>,
      },
      answers: {},
    },
  ],
  repairs: [
    { field: 'state', from: 'ma', value: 'MA', record: { kind: 'patient', id: 'patient-1001', version: 7 } },
  ],
};

const querySchema = momentQuerySchema.pick({ as_of: true });

/** `GET /integration/encounters/{id}/readiness`. */
const readEncounterReadiness = endpoint({
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
    200: {
      description: 'The readiness of the encounter.',
      schema: readinessSchema,
      example: readinessExample,
    },
  },
  errors: ['RecordNotFound', 'Erased'],
  subject: ({ req }) => accessSubject('encounter', req.params.id),
  handler: (ports: HistoryPorts & QueryPorts) => async (context) => {
    const { eventLog, names } = ports;
    const id = pathId(context.req, 'id', entry.title);
    const caller = callerOf(context);
    const { as_of: asked } = validate(querySchema, withPlus(context.req, 'as_of'));
    const asOf = asked === undefined ? undefined : instantOf(asked);
    const readiness = await readReadiness(ports, caller.workspace, id, asOf);
    const { encounter, facts, state, at, findings, repairs, billing, filing, today } = readiness;
    await names.learn([
      ...findings.map(({ cause }) => cause.event.metadata.principal),
      ...billingPrincipals(billing),
      ...answerPrincipals(facts.answers),
    ]);
    await recordAccess(eventLog, caller, readinessAccess(readiness, asked));
    return {
      body: {
        id,
        version: encounter.version,
        state,
        as_of: new Date(at).toISOString(),
        billed: billing === undefined ? null : viewBilling(billing, names),
        filing: filingView(filing && { limit: filing.limit, last_day: filing.lastDay }, today),
        findings: findings.map((finding) => findingView(finding, facts.answers, names)),
        repairs: repairs.map(({ record: { kind, id, version }, ...repair }) => ({
          ...repair,
          record: { kind, id, version },
        })),
      },
    };
  },
});

function findingView(
  { rule, severity, text, field, record, claimId, billedVersion, since, cause }: CausedFinding,
  answers: AllAnswers | undefined,
  names: HistoryPorts['names'],
): z.infer<typeof findingSchema> {
  const { event } = cause;
  const { principal: sender } = event.metadata;
  return {
    ...{ rule: rule.code, severity, owner: ownerOf(rule, record.kind), text, source: rule.source, field },
    codes: codesFor(rule),
    record: { kind: record.kind, id: record.id, version: record.version },
    ...(claimId !== undefined && { claim_id: claimId }),
    ...(billedVersion !== undefined && { billed_version: billedVersion }),
    since,
    cause: {
      ...{ kind: cause.kind, id: cause.id, version: cause.version },
      event_id: event.id,
      principal: { ...sender, name: names.nameOf(sender) ?? null },
    },
    answers: answersView(answers?.get(answerKey(rule.code, record)), names),
  };
}

const kinds = catalog.map(({ kind }) => kind);
const day = (description: string) => requiredDay('2026-03-14', description).optional();

/** Query of the worklist, without the page. */
export const worklistFilterSchema = z.object({
  state: z
    .enum(readinessStates)
    .optional()
    .meta({ description: 'Only encounters in this state', examples: ['blocked'] }),
  rule: ruleCode
    .optional()
    .meta({ description: 'Encounters with a finding of this rule', examples: ['policy_number_missing'] }),
  owner: ownerSchema
    .optional()
    .meta({ description: 'Encounters with a finding that they put right', examples: ['registration'] }),
  payer_id: identifier(
    'Only encounters whose patient has primary insurance with this payer',
    'payer-1',
  ).optional(),
  facility_id: identifier('Only encounters at this facility', 'facility-3001').optional(),
  provider_id: identifier('Only encounters of this billing provider', 'provider-2001').optional(),
  from: day('Only encounters with a day of service on or after this day, as the date was sent'),
  to: day('Only encounters with a day of service on or before this day'),
  filing_from: day('Only encounters whose last day for filing is this day or a later one'),
  filing_to: day('Only encounters whose last day for filing is this day or an earlier one'),
  billed: z
    .enum(['true', 'false'])
    .optional()
    .meta({
      type: 'boolean',
      description:
        'Only encounters for which a claim was reported (`true`), or none was (`false`): with `state=ready`, what is still to be billed',
      examples: [false],
    }),
  assigned_to: assignee
    .optional()
    .meta({ description: 'Only encounters with a finding that is assigned to them', examples: ['maria'] }),
  answered: z
    .enum(['true', 'false'])
    .optional()
    .meta({
      type: 'boolean',
      description:
        'Only encounters all of whose findings are accepted, snoozed, assigned or noted (`true`), or with a ' +
        'finding that is not (`false`); encounters without findings are neither',
      examples: [false],
    }),
});

/** The order of the worklist. */
export const worklistOrderSchema = z.object({
  sort: z.enum(['filing']).optional().meta({
    description:
      '`filing`: by the last day on which the payer takes a claim, the earliest first, and then those without a filing limit',
  }),
});

/** Returns which encounters a query asks for. */
export function selectionOf({
  payer_id: payer,
  facility_id: facility,
  provider_id: provider,
  assigned_to: assigned,
  filing_from: from,
  filing_to: to,
  ...same
}: z.infer<typeof worklistFilterSchema> & z.infer<typeof worklistOrderSchema>): WorklistSelection {
  const filing = from === undefined && to === undefined ? undefined : { from, to };
  return { ...same, payer, facility, provider, assigned, ...(filing && { filing }) };
}

const query = pageQuerySchema
  .extend(worklistFilterSchema.shape)
  .extend(worklistOrderSchema.shape)
  .extend(asOfQuerySchema.shape);

const count = z.int().min(0);
const byState = z.object(Object.fromEntries(readinessStates.map((state) => [state, count])));

const lastDay = z.iso.date().nullable();

const worklistFindingSchema = z
  .object({
    rule: ruleCode,
    severity: z.enum(severities),
    owner: ownerSchema,
    field: z.string().meta({ description: 'The field at fault, in dot notation if nested' }),
    record: z.object({ kind: z.enum(kinds), id: z.string() }).meta({ description: 'The record at fault' }),
    answer: z
      .object({
        accepted_until: lastDay.meta({
          description: 'The last day for which it is accepted, and does not block',
        }),
        snoozed_until: lastDay.meta({ description: 'The last day for which it is snoozed' }),
        assigned_to: z.string().nullable(),
        is_noted: z
          .boolean()
          .meta({ description: 'Whether this version of the record at fault has a note on it' }),
      })
      .nullable()
      .meta({ description: 'What holds of the answers to it; `null` if nobody has dealt with it' }),
  })
  .meta({ id: 'WorklistFinding', description: 'A problem with billing an encounter.' });

const itemSchema = z
  .object({
    id: z.string().meta({ description: "The caller's id of the encounter", examples: ['encounter-4001'] }),
    state: z.enum(readinessStates),
    date_of_service: z.string().nullable(),
    patient_id: z.string().nullable(),
    payer_id: z.string().nullable().meta({ description: "Payer of the patient's primary insurance" }),
    facility_id: z.string().nullable(),
    provider_id: z.string().nullable(),
    billed: z
      .object({
        at: timestamp('When it was reported'),
        claim_id: z.string().meta({ description: "The sender's id of the claim", examples: ['claim-1'] }),
        outcome: z
          .enum(claimOutcomes)
          .nullable()
          .meta({ description: 'What became of it last; `null` if nothing was reported' }),
      })
      .nullable()
      .meta({ description: 'The last claim that was sent for it; `null` if none was reported' }),
    filing: filingSchema,
    findings: z.array(worklistFindingSchema),
  })
  .meta({ id: 'WorklistItem', description: 'An encounter, and what is in the way of billing it.' });

/** How up to date what is read from the worklist is. */
export const progressSchema = z
  .object({
    is_current: z.boolean().meta({
      description: 'Whether the list includes every write that was answered before the request',
    }),
    under_way: z
      .array(
        z.object({
          kind: z.enum([...kinds, 'workspace', 'code_set']),
          id: z.string(),
          done: count,
          total: count,
        }),
      )
      .meta({
        description:
          'Changes that are under way, for which the response does not wait, and how many of the encounters ' +
          'that depend on each have been evaluated since; `workspace`: a rule was set; `code_set`: a code ' +
          'set was loaded',
      }),
  })
  .meta({ description: 'How up to date the list is' });

const pageSchema = pageOf(itemSchema)
  .extend({
    counts: z
      .object({
        states: byState.meta({
          description:
            'Encounters in each state; with the filter `rule`, only those with a finding of that rule',
        }),
        rules: z.record(z.string(), count).meta({
          description:
            'Encounters with a finding of each rule; with the filter `state`, only those in that state',
        }),
      })
      .nullable()
      .meta({
        description:
          'How many there are. `null` if more than one of `owner`, `payer_id`, `facility_id`, `provider_id`, ' +
          '`billed`, `assigned_to`, `answered` and the days is used as a filter, with `filing_from` and `filing_to`, ' +
          'and with `as_of`',
      }),
    progress: progressSchema,
  })
  .meta({ id: 'Worklist', description: 'Encounters, with what prevents billing them.' });

const worklistExample: z.infer<typeof pageSchema> = {
  items: [
    {
      ...{ id: 'encounter-4001', state: 'blocked', date_of_service: '2026-03-14T09:30:00Z' },
      ...{ patient_id: 'patient-1001', payer_id: 'payer-1', facility_id: 'facility-3001' },
      provider_id: 'provider-2001',
      billed: null,
      filing: { limit: 'P1Y', last_day: '2027-03-14', days_left: 364 },
      findings: [
        {
          ...{ rule: 'policy_number_missing', severity: 'blocks', owner: 'registration' },
          field: 'primary_insurance.policy_number',
          record: { kind: 'patient', id: 'patient-1001' },
          answer: { accepted_until: null, snoozed_until: null, assigned_to: 'maria', is_noted: false },
        },
      ],
    },
  ],
  next_page_token: null,
  counts: {
    states: { ready: 812, self_pay: 9, blocked: 1, rejected: 0, not_completed: 40, voided: 3 },
    rules: { policy_number_missing: 1 },
  },
  progress: { is_current: true, under_way: [] },
};

/** `GET /integration/readiness`. */
const readReadinessWorklist = endpoint({
  method: 'get',
  path: '/integration/readiness',
  operationId: 'listReadiness',
  summary: 'List encounters by what is in the way of billing them',
  description:
    'The encounters of the workspace with what billing would refuse about them, in the order of their ' +
    'creation (by day of service with days and no filter but `owner`, `answered` and `billed`; by deadline with `sort=filing`), and how many there are in each state and ' +
    'by rule. A change to a payer, provider or facility reaches all encounters that depend on it, with a ' +
    'short delay if there are many: `progress` says how up to date the list is. With filters, a page may ' +
    'have fewer items than `limit`, or none: the list continues as long as there is a `next_page_token`. ' +
    'An encounter that changes between two pages may be on both, or on neither. The readiness of an ' +
    'encounter says since when a finding has existed, and who caused it. With `as_of`, each encounter is evaluated by the records and ' +
    'settings of that time, in the order of creation; this takes longer, so pages have fewer items.',
  tag: tagOf(entry),
  permission: 'read',
  query,
  answers: { 200: { description: 'A page of encounters.', schema: pageSchema, example: worklistExample } },
  subject: () => ({ kind: entry.kind }),
  handler: (ports: QueryPorts) => async (context) => {
    const { limit, page_token: pageToken, ...asked } = validate(query, withPlus(context.req, 'as_of'));
    const caller = callerOf(context);
    const { as_of, ...wanted } = asked;
    const asOf = requestedAsOf(as_of, { sort: wanted.sort });
    const selection = selectionOf(wanted);
    const page = { limit, pageToken };
    const worklist = await (asOf === undefined
      ? readWorklist(ports, caller.workspace, selection, page)
      : readWorklistAsOf(ports, caller.workspace, selection, { ...page, asOf }));
    await recordAccess(
      ports.eventLog,
      caller,
      ...worklistAccesses(worklist.items, { limit, page_token: pageToken, ...asked }),
    );
    return { body: worklistView(worklist, asked) };
  },
});

function worklistView(
  { items, next_page_token, counts, progress, today }: Omit<Worklist, 'settings'>,
  { state, rule }: z.infer<typeof worklistFilterSchema>,
): z.infer<typeof pageSchema> {
  return {
    items: items.map((entry) => itemOf(entry, today)),
    next_page_token,
    counts: counts === undefined ? null : shownCounts(counts, { state, rule }),
    progress: progressView(progress),
  };
}

/** Returns how up to date the worklist is, as the interface reports it. */
export function progressView({
  isCurrent: is_current,
  underWay: under_way,
}: WorklistProgress): z.infer<typeof progressSchema> {
  return { is_current, under_way };
}

function answerOf(finding: WorklistFinding) {
  const { accepted_until = null, snoozed_until = null, assigned_to = null, is_noted = false } = finding;
  return { accepted_until, snoozed_until, assigned_to, is_noted };
}

function itemOf(entry: WorklistEntry, today: string): z.infer<typeof itemSchema> {
  const { encounter_id: id, state, date_of_service = null, patient_id = null } = entry;
  const { payer_id = null, facility_id = null, provider_id = null, billed: claim } = entry;
  const findings = entry.findings.map((finding) => {
    const { rule, severity, field, kind, id } = finding;
    const answer = isAnswered(finding) ? answerOf(finding) : null;
    return { rule, severity, owner: ownerOfFinding(finding), field, record: { kind, id }, answer };
  });
  const billed =
    claim === undefined ? null : { at: claim.at, claim_id: claim.id, outcome: claim.outcome ?? null };
  const filing = filingView(entry.filing, today);
  return {
    id,
    state,
    date_of_service,
    patient_id,
    payer_id,
    facility_id,
    provider_id,
    billed,
    filing,
    findings,
  };
}

/** The endpoints of readiness for billing. */
export const readinessEndpoints = [readEncounterReadiness, readReadinessWorklist];
