import { z } from 'zod';
import { patient } from '../../domain/records/kinds/patient.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { messageListAccess } from '../../modules/audit/accesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import {
  isWaiting,
  type Message,
  type MessageState,
  messageStates,
} from '../../modules/integrations/messages/message.ts';
import { type MessageStore, messagesBefore } from '../../modules/integrations/messages/store.ts';
import { BUILT_IN_SOURCE, readSources } from '../../modules/integrations/sources.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import type { Page as ListPage } from '../../modules/records/queries/paging.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { filterForm, input, select } from '../components/forms.ts';
import { fieldLabel } from '../components/labels.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  messageWorkers,
  phiReaders,
  type Reply,
  requestReaders,
  type Visit,
} from '../components/page.ts';
import { pageLinks } from '../components/paging.ts';
import { type BarTime, barTimes, type RangeName, rangeLinks, rangeOf, ranges } from '../components/ranges.ts';
import { filledQuery, referredLink } from '../components/recordTable.ts';
import { table } from '../components/tables.ts';
import { badge, bdi, code, empty, time } from '../components/text.ts';
import { type MessageLimits, messagePath, messagesPath, messagesSection } from '../components/urls.ts';
import { totalledChart } from './overviewFigures.ts';
import { readNames } from './records/shared.ts';

/** A message is `received` only until it is processed: its figure counts what is left to do. */
const stateTexts: Record<MessageState, string> = {
  received: 'Not processed yet',
  accepted: 'Accepted',
  partly: 'Partly accepted',
  rejected: 'Rejected',
};

/** Maximum number of messages counted. */
const MOST_COUNTED = 1_000;
const COUNTED_AT_ONCE = 200;

/** What charts show of a message. */
interface CountedMessage {
  /** Milliseconds since 1970. */
  at: number;
  state: MessageState;
}

interface Counted {
  messages: CountedMessage[];
  /** ISO 8601: only those from this moment on are counted, as there are too many; undefined: all are. */
  since: string | undefined;
}

/**
 * Resolves with the results of the messages of a range, as bars that lead to the messages of their time; of one
 * source, where one is asked for.
 */
async function messageCharts(
  store: MessageStore,
  workspace: string,
  range: RangeName,
  limits: MessageLimits,
): Promise<Html> {
  const bars = barTimes(range);
  const { messages, since } = await countMessages(store, workspace, bars[0]?.from ?? 0, limits.source);
  const { words, per } = ranges[range];
  const chart = (name: string, isCounted: (message: CountedMessage) => boolean, rejected?: 'yes') => {
    const points = bars.map((bar) => {
      const value = messages.filter((message) => isIn(bar, message) && isCounted(message)).length;
      const page_token = messagesBefore(workspace, bar.to, { rejected: rejected !== undefined });
      const { source } = limits;
      const only = { ...(rejected && { rejected }), ...(source !== undefined && { source }) };
      const path = messagesPath(workspace, { ...only, range, page_token });
      const id = `${rejected ? 'not-taken' : 'all'}-${bar.from}`;
      return { name: bar.name, value, ...(value > 0 && { link: { path, id } }) };
    });
    return totalledChart(name, points, range, rejected && 'bad');
  };
  const figure = (state: MessageState) => messages.filter((one) => one.state === state).length;
  return html`<div class="page-head">${rangeLinks(range, (one) => messagesPath(workspace, { ...limits, range: one }))}
<p class="line">${messageStates.map(
    (state) =>
      html`<span>${stateTexts[state]} <strong>${figure(state).toLocaleString('en-US')}</strong></span> `,
  )}</p></div>
<div class="charts">
<section class="card"><h2>Messages per ${per}</h2>${chart('Messages', () => true)}</section>
<section class="card"><h2>Not fully accepted per ${per}</h2>${chart('Messages not fully accepted', isNotFullyAccepted, 'yes')}</section>
</div>
${since !== undefined && html`<p class="muted">Only the newest ${messages.length.toLocaleString('en-US')} messages in ${words} are counted: those since ${time(since)}.</p>`}`;
}

function isIn({ from, to }: BarTime, { at }: CountedMessage): boolean {
  return at >= from && at < to;
}

function isNotFullyAccepted({ state }: CountedMessage): boolean {
  return state === 'partly' || state === 'rejected';
}

async function countMessages(
  store: MessageStore,
  workspace: string,
  from: number,
  source: string | undefined,
): Promise<Counted> {
  const messages: CountedMessage[] = [];
  const isOf = (message: Message) => source === undefined || message.source === source;
  let pageToken: string | undefined;
  let oldest: string | undefined;
  for (let lookedAt = 0; lookedAt < MOST_COUNTED; lookedAt += COUNTED_AT_ONCE) {
    const { items, next_page_token } = await store.list(workspace, { limit: COUNTED_AT_ONCE, pageToken });
    const recent = items.filter(({ received_at }) => Date.parse(received_at) >= from);
    messages.push(
      ...recent.filter(isOf).map(({ received_at, state }) => ({ at: Date.parse(received_at), state })),
    );
    if (next_page_token === null || recent.length < items.length) return { messages, since: undefined };
    pageToken = next_page_token;
    oldest = items.at(-1)?.received_at;
  }
  return { messages, since: oldest };
}

/** Formats as people name them. */
export const formatTexts: Record<Message['format'], string> = { fhir: 'FHIR', hl7v2: 'HL7 v2' };

const tones = { received: 'neutral', accepted: 'good', partly: 'bad', rejected: 'bad' } as const;

/** Returns the result of a message. */
export function stateBadge(state: MessageState): Html {
  return badge(state, tones[state]);
}

/** What readers of records see of whom messages are about. */
export interface AboutNames {
  /** Undefined while the read model is too far behind. */
  names: RecordNames | undefined;
}

/** Returns messages, each with a link to its page; without `shown` they do not say whom they are about. */
export function messageTable(
  workspace: string,
  messages: readonly Message[],
  shown: AboutNames | undefined,
): Html {
  return html`<div class="dense">${table(
    'Messages, newest first',
    [
      {
        title: 'Received',
        isHeader: true,
        cell: ({ id, received_at }) =>
          html`<a href="/dashboard${messagePath(workspace, id)}"><span class="nowrap">${time(received_at)}</span></a>`,
      },
      {
        title: 'Event',
        cell: ({ event = '', format }) =>
          html`<span class="nowrap">${event.replace('^', ' ')} <small class="muted">${formatTexts[format]}</small></span>`,
      },
      { title: 'Control ID', cell: ({ control_id }) => control_id && code(control_id) },
      ...(shown
        ? [
            {
              title: 'Patient',
              isCut: true,
              cell: (one: Message) => patientCell(workspace, patientsIn(one), shown),
            },
          ]
        : []),
      { title: 'Problem', isCut: true, cell: ({ problems }) => firstProblem(problems) },
      { title: 'State', cell: stateCell },
      {
        title: 'Source',
        cell: ({ source }) =>
          html`<a href="/dashboard${messagesPath(workspace, { source })}" aria-label="Messages of ${source}">${source}</a>`,
      },
    ],
    messages,
  )}</div>`;
}

/** Returns the patients that a message concerns. */
function patientsIn({ about }: Message): Message['about'] {
  return about.filter(({ kind }) => kind === patient.kind);
}

/** Returns the patients that a list of messages names: the first of each. */
export function patientsNamed(messages: readonly Message[]): Message['about'] {
  return messages.flatMap((one) => patientsIn(one).slice(0, 1));
}

function patientCell(
  workspace: string,
  [first, ...others]: Message['about'],
  { names }: AboutNames,
): Html | undefined {
  if (first === undefined) return undefined;
  return html`${aboutLink(workspace, first, names)}${others.length > 0 && html` <small class="muted nowrap">and ${others.length} more</small>`}`;
}

/** Returns a link to a record that a message is about; without one where there is no such record: it was refused, or erased. */
export function aboutLink(
  workspace: string,
  { kind, id }: Message['about'][number],
  names: RecordNames | undefined,
): HtmlValue {
  const isNone = names !== undefined && names.nameOf(kind, id) === undefined;
  return isNone ? bdi(id) : referredLink(workspace, kind, id, names);
}

/** Returns the result of a message, and what was decided about it since. */
function stateCell({ state, corrected_by, put_aside }: Message): Html {
  const since = corrected_by !== undefined ? 'corrected' : put_aside && 'put aside';
  return html`${stateBadge(state)}${since !== undefined && html` <small class="muted nowrap">${since}</small>`}`;
}

/** Returns what is wrong; where that begins with the path of a field, with its name in place of it. */
export function problemText({ text }: Pick<Message['problems'][number], 'text'>): string {
  return text.replace(/^[a-z]\w*(?:\.\w+)+(?= )/, fieldLabel);
}

/** Returns what the worst problem is, without what to do about it, and how many more there are. */
export function firstProblem(problems: Message['problems']): Html | undefined {
  const first = problems.find(({ severity }) => severity === 'error') ?? problems[0];
  if (first === undefined) return undefined;
  const more = problems.length - 1;
  const text = problemText(first);
  const [sentence] = text.split(/(?<=\.) /);
  return html`<span title="${text}">${sentence}</span>${more > 0 && html` <small class="muted nowrap">and ${more} more</small>`}`;
}

/** Maximum number of waiting messages that are processed again at a time. */
export const MOST_RESENT = 100;

/** Resolves with the button that processes the waiting messages again, for those who may; undefined where there are none. */
async function resendForm(
  { messages }: MessagePagePorts,
  { workspace, csrf, may }: Visit,
): Promise<Html | undefined> {
  if (!may(messageWorkers)) return undefined;
  let count = 0;
  for await (const _ of messages.rejected(workspace)) {
    count += 1;
    if (count === MOST_RESENT) break;
  }
  if (count === 0) return undefined;
  const label =
    count === MOST_RESENT ? `Resend the oldest ${MOST_RESENT} waiting` : `Resend ${count} waiting`;
  return html`<form method="post" action="/dashboard${messagesPath(workspace)}/resend">${csrf}
<div class="actions"><button type="submit" class="outline">${label}</button></div>
</form>`;
}

export interface MessagePagePorts extends QueryPorts {
  messages: MessageStore;
}

const MESSAGES_A_PAGE = 50;
/** Maximum number of messages examined for one page of a source. */
const MOST_LOOKED_AT = 1_000;

/** Messages with the same control id that are shown. */
const MOST_ALIKE = 50;

const value = z.string().optional().catch(undefined);
const querySchema = z.object({
  rejected: z.literal('yes').optional().catch(undefined),
  source: value,
  control_id: value,
  range: value,
  page_token: value,
});
type Query = z.output<typeof querySchema>;

/** `…/messages`: what EMRs sent to a workspace, newest first. */
export function messagesRoutes(ports: MessagePagePorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/messages',
      roles: requestReaders,
      query: Object.keys(querySchema.shape),
      handle: (visit) => list(ports, visit),
    },
  ];
}

async function list(ports: MessagePagePorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, may } = visit;
  const mayRead = may(phiReaders);
  const query = validate(querySchema, filledQuery(visit.req));
  const range = rangeOf(query.range, '24h');
  const limits = limitsOf(query);
  const [found, sources] = await Promise.all([
    readList(ports.messages, workspace, query),
    readSources(ports.eventLog, workspace),
  ]);
  const { names, accesses } = await readNames(ports, workspace, mayRead ? patientsNamed(found.items) : []);
  const listed = messageListAccess(listedQuery(query), found.items, mayRead);
  await recordAccess(ports.eventLog, caller, listed, ...accesses);
  const isNewest = query.page_token === undefined;
  const hasCharts = isNewest && query.control_id === undefined;
  const charts = hasCharts && (await messageCharts(ports.messages, workspace, range, limits));
  const body = html`<div class="page-head"><h1>Messages</h1>${hasCharts && (await resendForm(ports, visit))}</div>
<p class="muted">FHIR and HL7 v2 messages from EMRs, for as long as they are kept, and their outcomes.</p>
${charts}
${form(workspace, query, range, [BUILT_IN_SOURCE, ...sources.map(({ id }) => id)])}
${found.items.length > 0 && messageTable(workspace, found.items, mayRead ? { names } : undefined)}
${older(visit, limits, found)}`;
  return { page: { title: messagesSection, section: messagesSection, body } };
}

function listedQuery({ rejected, source, control_id }: Query): Record<string, string> {
  return {
    ...{ limit: String(MESSAGES_A_PAGE), rejected: String(rejected !== undefined) },
    ...(source !== undefined && { source }),
    ...(control_id !== undefined && { control_id }),
  };
}

function limitsOf({ rejected, source, control_id }: Query): MessageLimits {
  return {
    ...(rejected && { rejected }),
    ...(source !== undefined && { source }),
    ...(control_id !== undefined && { control_id }),
  };
}

/** Resolves with a page, or with what was found of it within the maximum number of messages examined. */
async function readList(messages: MessageStore, workspace: string, query: Query): Promise<ListPage<Message>> {
  const { source, rejected: only, control_id, page_token: token } = query;
  const isOf = (one: Message) => source === undefined || one.source === source;
  if (control_id !== undefined) {
    const alike = await messages.withControlId(workspace, control_id.trim(), MOST_ALIKE);
    const isListed = (one: Message) => isOf(one) && (only === undefined || isWaiting(one));
    return { items: alike.filter(isListed), next_page_token: null };
  }
  const items: Message[] = [];
  let pageToken = token;
  for (let lookedAt = 0; lookedAt < MOST_LOOKED_AT; lookedAt += MESSAGES_A_PAGE) {
    const request = { limit: MESSAGES_A_PAGE, pageToken, rejected: only !== undefined };
    const page = await messages.list(workspace, request);
    items.push(...page.items.filter(isOf));
    pageToken = page.next_page_token ?? undefined;
    if (pageToken === undefined || items.length >= MESSAGES_A_PAGE) break;
  }
  return { items, next_page_token: pageToken ?? null };
}

function form(
  workspace: string,
  { rejected, source = '', control_id }: Query,
  range: RangeName,
  ids: string[],
): Html {
  const known = source === '' || ids.includes(source) ? ids : [source, ...ids];
  return filterForm({
    path: `/dashboard${messagesPath(workspace)}`,
    limits: { rejected, source, control_id },
    fields: html`${select({
      name: 'rejected',
      label: 'State',
      value: rejected ?? '',
      options: [
        { value: '', text: 'All' },
        { value: 'yes', text: 'Not fully accepted, or not finished' },
      ],
    })}
${select({
  name: 'source',
  label: 'Source',
  value: source,
  options: [{ value: '', text: 'Any source' }, ...known.map((id) => ({ value: id, text: id }))],
})}
${input({ name: 'control_id', label: 'Control ID', value: control_id ?? '', autocomplete: 'off' })}
<input type="hidden" name="range" value="${range}">`,
  });
}

function older(
  { workspace, req }: Visit,
  limits: MessageLimits,
  { items, next_page_token: token }: ListPage<Message>,
): Html {
  if (items.length > 0 || token !== null)
    return pageLinks(req, { token, isShort: items.length < MESSAGES_A_PAGE });
  if (req.query.page_token !== undefined)
    return html`${empty('There is nothing older.')}${pageLinks(req, { token })}`;
  if (Object.keys(limits).length > 0) {
    return empty(
      html`No messages match. <a href="/dashboard${messagesPath(workspace)}">Show all messages</a>`,
    );
  }
  return empty(
    html`No messages. EMRs send FHIR with <code>POST /fhir</code>, and HL7 v2 with <code>POST /hl7/v2</code>.`,
  );
}
