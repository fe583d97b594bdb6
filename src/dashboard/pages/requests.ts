import { z } from 'zod';
import { requestFilter, requestFilterSchema } from '../../api/routes/requestsQuery.ts';
import { validate } from '../../domain/records/schema/validate.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import {
  countRefusedRequests,
  findRefusedRequest,
  type RefusedRequest,
  readRequestLog,
} from '../../modules/audit/requestLog.ts';
import type { KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { ALL_WORKSPACES } from '../../modules/auth/user.ts';
import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import type { Page as ListPage } from '../../modules/records/queries/page.ts';
import type { QueryPorts } from '../../modules/records/queries/readRecord.ts';
import { notFound } from '../../platform/errors.ts';
import { type Html, html } from '../components/html.ts';
import { zoneParameter } from '../components/momentFields.ts';
import { filledQuery, textsOf } from '../components/recordQuery.ts';
import { requestPath, requestsPath, requestsSection } from '../components/requestPaths.ts';
import {
  type DashboardRoute,
  type Page,
  phiReaders,
  type Reply,
  requestReaders,
  type Visit,
} from '../components/route.ts';
import { type Refusal, refusalOf } from '../components/sentForm.ts';
import { table } from '../components/table.ts';
import { code, empty } from '../components/text.ts';
import { total } from '../components/total.ts';
import { requestColumns } from './requestColumns.ts';
import { requestForm } from './requestForm.ts';
import { requestPage } from './requestPage.ts';

export interface RequestPagePorts extends QueryPorts {
  directory: KeyDirectory;
  names: PrincipalNames;
  openapiPublic: boolean;
  publicUrl: string | undefined;
}

const REQUESTS_A_PAGE = 50;

/** A parameter that was sent twice counts as not sent. */
const value = z.string().optional().catch(undefined);
const querySchema = requestFilterSchema.extend({ key: value, request_id: value, page_token: value });

/** The refused requests of each workspace's keys: a list, and a page for each. */
export function requestsRoutes(ports: RequestPagePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/requests';
  return [
    {
      method: 'get',
      path,
      roles: requestReaders,
      query: [...Object.keys(querySchema.shape), zoneParameter],
      handle: (visit) => listReply(ports, visit),
    },
    {
      method: 'get',
      path: `${path}/:id`,
      roles: requestReaders,
      async handle(visit) {
        const { workspace, caller, req } = visit;
        const found = await findRefusedRequest(ports, workspace, String(req.params.id));
        if (found === undefined) throw notFound('Refused request');
        await ports.names.learn([found.principal]);
        const query = { request_id: found.requestId ?? found.eventId };
        await recordAccess(ports.eventLog, caller, { action: 'audit.read', query });
        return { page: requestPage(ports, visit, found) };
      },
    },
  ];
}

async function listReply(ports: RequestPagePorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, req } = visit;
  const filled = filledQuery(req);
  const { page_token: _token, ...sent } = textsOf({ query: filled });
  let query: z.output<typeof querySchema>;
  try {
    query = validate(querySchema, filled);
  } catch (error) {
    return { page: framed(ports, visit, sent, html``, refusalOf(error)) };
  }
  const { key, request_id: requestId, page_token: pageToken, ...asked } = query;
  if (requestId !== undefined) return lookUp(ports, visit, requestId.trim());
  const filter = { ...requestFilter(asked), ...(key !== undefined && { keys: [key] }) };
  const found = await readRequestLog(ports, workspace, filter, { limit: REQUESTS_A_PAGE, pageToken });
  await ports.names.learn(found.items.map(({ principal }) => principal));
  await recordAccess(ports.eventLog, caller, {
    action: 'audit.read',
    query: { ...sent, outcome: 'refused' },
  });
  const columns = requestColumns(ports.names, workspace);
  const counted = await countRefusedRequests(ports, workspace, filter);
  const body = html`${found.items.length > 0 && total(counted, 'refused request', 'refused requests')}
${found.items.length > 0 && table('Refused requests, newest first', columns, found.items)}
${older(workspace, sent, found, pageToken === undefined)}`;
  return { page: framed(ports, visit, sent, body) };
}

/** Leads to the request with an id. */
async function lookUp(ports: RequestPagePorts, visit: Visit, requestId: string): Promise<Reply> {
  const { workspace } = visit;
  if (await findRefusedRequest(ports, workspace, requestId))
    return { redirect: requestPath(workspace, requestId) };
  const sent = { request_id: requestId };
  return { page: framed(ports, visit, sent, unknownRequest(workspace, requestId)) };
}

/** Returns the page with the form, filled in with what was sent, above its body. */
function framed(
  { directory }: RequestPagePorts,
  { workspace, may }: Visit,
  sent: Record<string, string>,
  body: Html,
  refusal?: Refusal,
): Page {
  const keys = [...directory.known.keys.values()]
    .filter((key) => key.workspace === workspace)
    .map(({ id, name, state }) => ({ value: id, text: state === 'deleted' ? `${name} (deleted)` : name }));
  return {
    title: requestsSection,
    section: requestsSection,
    ...(refusal && { status: refusal.status }),
    body: html`<h1>Requests</h1>
<p class="muted">Refused requests of this workspace’s API keys and MLLP sources, with the reasons; what was sent is never kept.${
      may(phiReaders, ALL_WORKSPACES) &&
      html` Requests with unknown API keys belong to no workspace: <a href="/dashboard/audit?action=key.unknown">they are counted by address</a>.`
    }</p>
${requestForm(`/dashboard${requestsPath(workspace)}`, sent, keys, refusal)}
${body}`,
  };
}

function older(
  workspace: string,
  sent: Record<string, string>,
  { items, next_page_token }: ListPage<RefusedRequest>,
  isNewest: boolean,
): Html {
  if (next_page_token !== null) {
    const query = new URLSearchParams({ ...sent, page_token: next_page_token }).toString();
    const text = items.length < REQUESTS_A_PAGE ? 'Look further back' : 'Older';
    return html`<div id="older"><a role="button" class="outline" href="/dashboard${requestsPath(workspace)}?${query}">${text}</a></div>`;
  }
  if (items.length > 0) return html``;
  if (!isNewest) return empty('There is nothing older.');
  if (Object.keys(sent).length > 0)
    return empty(
      html`No refused requests match. <a href="/dashboard${requestsPath(workspace)}">Show all refused requests</a>`,
    );
  return empty(
    html`No refused requests yet. The response to a refused request has a ${code('requestId')}: look it up here, or with ${code('GET /integration/requests/{id}')} and the same API key.`,
  );
}

function unknownRequest(workspace: string, requestId: string): Html {
  return empty(
    html`No refused request of this workspace has the ID ${code(requestId)}. Requests that were accepted, came without a known API key, or failed in the service are not listed here. <a href="/dashboard${requestsPath(workspace)}">Show all refused requests</a>`,
  );
}
