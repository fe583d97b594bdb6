import { z } from 'zod';
import { recordPath, requestPath, requestsPath, worklistPath } from '../../../dashboard/components/urls.ts';
import { readinessStates } from '../../../domain/events/readinessEvents.ts';
import { rules } from '../../../modules/readiness/rules/index.ts';
import { owners } from '../../../modules/readiness/rules/rule.ts';
import { findSections } from './documentation.ts';
import {
  type Call,
  cursor,
  cursorOf,
  head,
  id,
  limit,
  listOf,
  moment,
  outputOf,
  pageOf,
  pageSchema,
  pathOf,
  principalSchema,
  privateText,
  shownPrincipal,
  shownWho,
  time,
  tool,
  written,
} from './tool.ts';

const filingSchema = z.object({ limit: z.string(), last_day: z.string(), days_left: z.int() }).nullable();

const shownFiling = z
  .object({ limit: z.string(), last_day: moment, days_left: z.int().nullable() })
  .nullable()
  .describe('Until when the payer takes a claim');

function filingOf({ view }: Call, filing: z.output<typeof filingSchema>) {
  if (filing === null) return null;
  const { limit, last_day, days_left } = filing;
  return { limit, last_day: view.moment(last_day), days_left: view.private(days_left) };
}

const recordSchema = z.object({ kind: z.string(), id: z.string() });
const shownRecord = z.object({ kind: z.string(), id: written }).describe('Record at fault');

const findingSchema = z.object({
  ...{ rule: z.string(), severity: z.string(), owner: z.string(), field: z.string() },
  record: recordSchema,
});
const shownFinding = findingSchema.extend({ record: shownRecord });

function findingOf({ view }: Call, { record, ...finding }: z.output<typeof findingSchema>) {
  return { ...finding, record: { kind: record.kind, id: view.id(record.kind, record.id) } };
}

const whyBlocked = tool({
  name: 'why_blocked',
  title: 'Why an encounter cannot be billed',
  description:
    'Says whether an encounter can be billed, and for each finding: the rule, the field and record at fault, since when, and who caused it.',
  permissions: ['read'],
  input: z.object({ id: id.describe('Id of the encounter'), as_of: time.describe('As it was at this time') }),
  privateInput: ['as_of'],
  output: outputOf({
    ...{ id: written, version: z.int(), state: z.enum(readinessStates), filing: shownFiling },
    billed: z.object({ claim_id: privateText }).nullable().describe('Its last claim'),
    findings: z.array(
      shownFinding.extend({ ...{ text: z.string(), source: z.string(), since: moment }, by: shownPrincipal }),
    ),
  }),
  async run(call, { id, as_of }) {
    const { client, view } = call;
    const schema = z.object({
      ...{ version: z.int(), state: z.enum(readinessStates), filing: filingSchema },
      billed: z.object({ claim_id: z.string() }).nullable(),
      findings: z.array(
        findingSchema.extend({
          ...{ text: z.string(), source: z.string(), since: z.string() },
          cause: z.object({ principal: principalSchema }),
        }),
      ),
    });
    const path = `${pathOf(call, 'encounter', id)}/readiness`;
    const { version, state, filing, billed, findings } = await client.getJson(schema, path, {
      query: { as_of },
    });
    return {
      ...head(call, (workspace) => recordPath(workspace, 'encounter', view.named('encounter', id))),
      ...{ id, version, state, filing: filingOf(call, filing) },
      billed: billed && { claim_id: view.private(billed.claim_id) },
      findings: findings.map(({ text, source, since, cause, ...finding }) => ({
        ...findingOf(call, finding),
        ...{ text, source, since: view.moment(since), by: shownWho(call, cause.principal) },
      })),
    };
  },
});

const filters = { payer_id: 'payer', facility_id: 'facility', provider_id: 'provider' } as const;

const worklist = tool({
  name: 'worklist',
  title: 'List encounters by what is in the way of billing them',
  description:
    'Lists encounters with what is in the way of billing them, and counts them by state and by rule. An answer may be empty and have a cursor: ask on.',
  permissions: ['read'],
  input: z.object({
    state: z.enum(readinessStates).optional().describe('Only encounters in this state'),
    rule: z
      .enum(rules.map(({ code }) => code))
      .optional()
      .describe('Only encounters with a finding of this rule'),
    owner: z.enum(owners).optional().describe('Only encounters with a finding that they put right'),
    payer_id: id.optional().describe('Only encounters whose patient has primary insurance with this payer'),
    facility_id: id.optional().describe('Only encounters at this facility'),
    provider_id: id.optional().describe('Only encounters of this billing provider'),
    from: z.string().max(40).optional().describe('Only days of service from this one on, such as 2026-03-14'),
    to: z.string().max(40).optional().describe('Only days of service up to this one'),
    sort: z.enum(['filing']).optional().describe('`filing`: the earliest filing limit first'),
    ...{ limit, cursor },
  }),
  privateInput: ['from', 'to', 'sort'],
  output: listOf(
    z.object({
      ...{ id: written, state: z.string(), date_of_service: moment.nullable() },
      ...{ patient_id: written.nullable(), payer_id: written.nullable(), facility_id: written.nullable() },
      provider_id: written.nullable(),
      ...{ filing: shownFiling, findings: z.array(shownFinding) },
    }),
  ).extend({
    counts: z
      .object({ states: z.record(z.string(), z.int()), rules: z.record(z.string(), z.int()) })
      .nullable()
      .describe('Encounters by state and by rule'),
  }),
  async run(call, { limit, cursor, ...asked }) {
    const { client, view } = call;
    const ids = Object.entries(filters).flatMap(([name, kind]) => {
      const shown = asked[name as keyof typeof filters];
      return shown === undefined ? [] : [[name, view.named(kind, shown)]];
    });
    const text = z.string().nullable();
    const page = await client.getJson(
      pageSchema({
        ...{ id: z.string(), state: z.string(), date_of_service: text, patient_id: text, payer_id: text },
        ...{ facility_id: text, provider_id: text, filing: filingSchema, findings: z.array(findingSchema) },
      }).extend({
        counts: z
          .object({ states: z.record(z.string(), z.int()), rules: z.record(z.string(), z.int()) })
          .nullable(),
      }),
      '/integration/readiness',
      { query: { ...asked, ...Object.fromEntries(ids), ...pageOf(call, { limit, cursor }) } },
    );
    const idOf = (kind: string, text: string | null) => (text === null ? null : view.id(kind, text));
    return {
      ...head(call, (workspace) => worklistPath(workspace)),
      items: page.items.map((item) => ({
        ...{ id: view.id('encounter', item.id), state: item.state },
        date_of_service: item.date_of_service && view.moment(item.date_of_service),
        patient_id: idOf('patient', item.patient_id),
        payer_id: idOf('payer', item.payer_id),
        facility_id: idOf('facility', item.facility_id),
        provider_id: idOf('provider', item.provider_id),
        filing: filingOf(call, item.filing),
        findings: item.findings.map((finding) => findingOf(call, finding)),
      })),
      cursor: cursorOf(call, page.next_page_token),
      counts: page.counts,
    };
  },
});

const refusedRequests = tool({
  name: 'refused_requests',
  title: 'List refused requests',
  description:
    'Lists refused requests, newest first: why each was refused, and which fields were at fault. Without the permission `audit`, only those of the key itself.',
  permissions: ['read', 'audit'],
  input: z.object({
    code: z
      .string()
      .max(60)
      .optional()
      .describe('Only requests refused for this reason, such as validation_failed'),
    field: z.string().max(100).optional().describe('Only requests with this field at fault'),
    from: time.describe('Only requests refused at this time or later'),
    to: time.describe('Only requests refused before this time'),
    ...{ limit, cursor },
  }),
  privateInput: ['from', 'to'],
  output: listOf(
    z.object({
      ...{ at: moment, method: z.string(), route: z.string(), status: z.int(), code: z.string() },
      fields: z.array(z.string()).describe('Names of the fields at fault'),
      ...{ kind: z.string().nullable(), record_id: written.nullable(), client: privateText },
      ...{ request_id: z.string().nullable(), link: z.string().nullable() },
    }),
  ),
  async run(call, { limit, cursor, ...asked }) {
    const { client, view, link, permissions } = call;
    const senders = permissions.includes('audit') ? 'all' : 'own';
    const page = await client.getJson(
      pageSchema({
        ...{ id: z.string(), refused_at: z.string(), method: z.string(), route: z.string(), status: z.int() },
        ...{ code: z.string(), fields: z.array(z.string()), kind: z.string().nullable() },
        ...{ record_id: z.string().nullable(), user_agent: z.string().nullable() },
      }),
      '/integration/requests',
      { query: { ...asked, senders, ...pageOf(call, { limit, cursor }) } },
    );
    return {
      ...head(call, (workspace) => requestsPath(workspace)),
      items: page.items.map(({ id, refused_at, method, route, status, code, fields, ...about }) => {
        const kind = about.kind === 'document' ? 'encounter' : about.kind;
        return {
          ...{ at: view.moment(refused_at), method, route, status, code, fields, kind: about.kind },
          record_id: kind === null || about.record_id === null ? null : view.id(kind, about.record_id),
          client: view.private(about.user_agent),
          request_id: view.private(id),
          link: link((workspace) => requestPath(workspace, id)),
        };
      }),
      cursor: cursorOf(call, page.next_page_token),
    };
  },
});

const MOST_SECTIONS = 3;

const documentation = tool({
  name: 'documentation',
  title: 'Search the documentation',
  description:
    'Finds sections of the documentation of Chartledger: guides, concepts, operation, and references of errors, warnings, readiness rules, fields, events and commands.',
  permissions: [],
  input: z.object({ question: z.string().min(1).max(300).describe('Words to look for') }),
  output: z.object({
    sections: z.array(z.object({ page: z.string(), title: z.string(), section: z.string() })),
  }),
  run: async (_call, { question }) => ({ sections: findSections(question, MOST_SECTIONS) }),
});

/** The tools about billing, and about the service itself. */
export const billingTools = [whyBlocked, worklist, refusedRequests, documentation];
