import { z } from 'zod';
import { validate } from '../../domain/records/schema/validate.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { MessageStore } from '../../modules/integrations/messages/MessageStore.ts';
import type { Message } from '../../modules/integrations/messages/message.ts';
import { readSources } from '../../modules/integrations/readSources.ts';
import { BUILT_IN_SOURCE } from '../../modules/integrations/source.ts';
import type { Page as ListPage } from '../../modules/records/queries/page.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { filterForm } from '../components/filterForm.ts';
import { select } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { type MessageLimits, messagesPath, messagesSection } from '../components/messagePaths.ts';
import { filledQuery } from '../components/recordQuery.ts';
import { type DashboardRoute, type Reply, requestReaders, type Visit } from '../components/route.ts';
import { empty } from '../components/text.ts';
import { messageCharts } from './messageCharts.ts';
import { messageTable } from './messageTable.ts';
import { type RangeName, rangeOf } from './ranges.ts';

export interface MessagePagePorts {
  eventLog: EventLog;
  messages: MessageStore;
}

const MESSAGES_A_PAGE = 50;
/** Maximum number of messages examined for one page of a source. */
const MOST_LOOKED_AT = 1_000;

const value = z.string().optional().catch(undefined);
const querySchema = z.object({
  rejected: z.literal('yes').optional().catch(undefined),
  source: value,
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
  const { workspace, caller } = visit;
  const query = validate(querySchema, filledQuery(visit.req));
  const range = rangeOf(query.range, '24h');
  const limits = limitsOf(query);
  await recordAccess(ports.eventLog, caller, {
    action: 'message.list',
    query: {
      ...{ limit: String(MESSAGES_A_PAGE), rejected: String(query.rejected !== undefined) },
      ...(query.source !== undefined && { source: query.source }),
    },
  });
  const [found, sources] = await Promise.all([
    readList(ports.messages, workspace, query),
    readSources(ports.eventLog, workspace),
  ]);
  const isNewest = query.page_token === undefined;
  const charts = isNewest && (await messageCharts(ports.messages, workspace, range, limits));
  const body = html`<h1>Messages</h1>
<p class="muted">FHIR and HL7 v2 messages from EMRs, for as long as they are kept, and their outcomes.</p>
${charts}
${form(workspace, query, range, [BUILT_IN_SOURCE, ...sources.map(({ id }) => id)])}
${found.items.length > 0 && messageTable(workspace, found.items)}
${older(workspace, { ...limits, range }, found, isNewest)}`;
  return { page: { title: messagesSection, section: messagesSection, body } };
}

function limitsOf({ rejected, source }: Query): MessageLimits {
  return { ...(rejected && { rejected }), ...(source !== undefined && { source }) };
}

/** Resolves with a page, or with what was found of it within the maximum number of messages examined. */
async function readList(messages: MessageStore, workspace: string, query: Query): Promise<ListPage<Message>> {
  const { source, rejected: only, page_token: token } = query;
  const items: Message[] = [];
  let pageToken = token;
  for (let lookedAt = 0; lookedAt < MOST_LOOKED_AT; lookedAt += MESSAGES_A_PAGE) {
    const request = { limit: MESSAGES_A_PAGE, pageToken, rejected: only !== undefined };
    const page = await messages.list(workspace, request);
    items.push(...page.items.filter((one) => source === undefined || one.source === source));
    pageToken = page.next_page_token ?? undefined;
    if (pageToken === undefined || items.length >= MESSAGES_A_PAGE) break;
  }
  return { items, next_page_token: pageToken ?? null };
}

function form(workspace: string, { rejected, source = '' }: Query, range: RangeName, ids: string[]): Html {
  const known = source === '' || ids.includes(source) ? ids : [source, ...ids];
  return filterForm(
    `/dashboard${messagesPath(workspace)}`,
    html`${select({
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
<input type="hidden" name="range" value="${range}">`,
  );
}

function older(
  workspace: string,
  limits: MessageLimits,
  { items, next_page_token: token }: ListPage<Message>,
  isNewest: boolean,
): Html {
  if (token !== null) {
    const address = messagesPath(workspace, { ...limits, page_token: token });
    const text = items.length < MESSAGES_A_PAGE ? 'Look further back' : 'Older';
    return html`<p><a role="button" class="outline" rel="next" href="/dashboard${address}">${text}</a></p>`;
  }
  if (items.length > 0) return html``;
  if (!isNewest) return empty('There is nothing older.');
  if (limits.rejected !== undefined || limits.source !== undefined) {
    return empty(
      html`No messages match. <a href="/dashboard${messagesPath(workspace)}">Show all messages</a>`,
    );
  }
  return empty(
    html`No messages. EMRs send FHIR with <code>POST /fhir</code>, and HL7 v2 with <code>POST /hl7/v2</code>.`,
  );
}
