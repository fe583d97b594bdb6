import { z } from 'zod';
import { addressOf } from '../../api/server/addressOf.ts';
import type { Shown } from '../../domain/events/shown.ts';
import { validate } from '../../domain/records/schema/validate.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { feedEventTypes } from '../../modules/eventStream/cloudEvent.ts';
import { formatPosition, parsePosition } from '../../modules/eventStream/position.ts';
import type { PrincipalNames } from '../../modules/records/queries/PrincipalNames.ts';
import { eventsPath, eventsSection, newsPath } from '../components/eventPaths.ts';
import { fieldLabel } from '../components/fieldLabel.ts';
import { filterForm } from '../components/filterForm.ts';
import { select } from '../components/formFields.ts';
import { type Html, html } from '../components/html.ts';
import { filledQuery, unlessBehind } from '../components/recordQuery.ts';
import { type DashboardRoute, everyone, phiReaders, type Reply, type Visit } from '../components/route.ts';
import { empty, tryAgain } from '../components/text.ts';
import { eventLine } from './eventLine.ts';
import {
  EVENTS_A_PAGE,
  type FoundEvent,
  type FoundEvents,
  type NewestEventsPorts,
  newestEvents,
  type Wanted,
} from './newestEvents.ts';

export interface EventPagePorts extends NewestEventsPorts {
  names: PrincipalNames;
  publicUrl: string | undefined;
}

const value = z.string().optional().catch(undefined);
const kinds = [...new Set(feedEventTypes.map((one) => one.kind))];
const kind = z.enum(kinds).optional();
const pageSchema = z.object({ kind, page_token: value, live: value });
const newsSchema = z.object({
  kind,
  after: z.string().refine((text) => parsePosition(text) !== undefined, { error: 'must be a position' }),
});

/** The newest events of a workspace, in the view that the role may see; where scripts run, new ones are added. */
export function eventsRoutes(ports: EventPagePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/events';
  return [
    {
      method: 'get',
      path,
      roles: everyone,
      query: Object.keys(pageSchema.shape),
      handle: (visit) => show(ports, visit),
    },
    {
      method: 'get',
      path: `${path}/news`,
      roles: everyone,
      query: Object.keys(newsSchema.shape),
      isBackground: true,
      handle: (visit) => showNews(ports, visit),
    },
  ];
}

async function show(ports: EventPagePorts, visit: Visit): Promise<Reply> {
  const { req, workspace } = visit;
  const query = validate(pageSchema, filledQuery(req));
  const wanted = { ...wantedBy(ports, visit, query.kind), pageToken: query.page_token };
  const found = await unlessBehind(read(ports, visit, wanted));
  const isNewest = query.page_token === undefined;
  const status = found ? 200 : 503;
  const body = html`<div class="page-head"><h1>Events</h1>
${isNewest && found && following(wanted, found.items, query.live !== undefined)}</div>
<p class="muted">The events that subscribers of this workspace receive from <code>GET /events</code>, newest first${
    wanted.view === 'deidentified' &&
    ', in the de-identified view: without names, with hashed ids, and years for dates'
  }.</p>
${filterForm(
  `/dashboard${eventsPath(workspace)}`,
  select({ name: 'kind', label: 'Kind', value: query.kind ?? '', options: kindOptions }),
)}
${found ? list(ports, wanted, found, isNewest) : tryAgain(req.originalUrl)}`;
  return { page: { title: eventsSection, section: eventsSection, status, body } };
}

/**
 * Resolves with what came after a position, to be put above the list, and where to continue from; with nothing where
 * nothing came.
 */
async function showNews(ports: EventPagePorts, visit: Visit): Promise<Reply> {
  const query = validate(newsSchema, visit.req.query);
  const wanted = { ...wantedBy(ports, visit, query.kind), after: parsePosition(query.after) as number };
  const found = await unlessBehind(read(ports, visit, wanted));
  if (found === undefined || found.items.length === 0) return { fragment: html`` };
  const isGap = found.items.length === EVENTS_A_PAGE;
  return {
    fragment: html`${lines(ports, wanted, found.items)}${
      isGap && html`<li class="muted">More events arrived in between. Reload the page to see them all.</li>`
    }${live(wanted, found.items, true)}`,
  };
}

function wantedBy({ publicUrl }: EventPagePorts, visit: Visit, kind: string | undefined): Wanted {
  const { workspace, req } = visit;
  const view = visit.may(phiReaders) ? 'full' : 'deidentified';
  return { workspace, kind, view, address: addressOf(req, publicUrl) };
}

/**
 * Resolves with the events, once the audit trail says that they were shown; where there are none, nothing was shown.
 */
async function read(ports: EventPagePorts, { caller }: Visit, wanted: Wanted): Promise<FoundEvents> {
  const found = await newestEvents(ports, wanted);
  const told = found.items.filter(({ event }) => typeof event !== 'string');
  const positions = told.map(({ entry }) => entry.position);
  if (positions.length > 0) {
    const { kind, view } = wanted;
    const types = feedEventTypes.filter((one) => one.kind === kind).map(({ eventType }) => eventType);
    const shown: Shown = {
      ranges: [{ from: Math.min(...positions), to: Math.max(...positions) }],
      count: told.length,
      ...(kind !== undefined && { event_types: types }),
      ...(view === 'deidentified' && { view }),
    };
    const query = { ...(kind !== undefined && { kinds: kind }), view };
    await recordAccess(ports.eventLog, caller, { action: 'events.read', query, shown });
  }
  if (wanted.view === 'full') await ports.names.learn(found.items.map(({ entry }) => entry.principal));
  return found;
}

const kindOptions = [
  { value: '', text: 'Any kind' },
  ...kinds.map((value) => ({ value, text: fieldLabel(value) })),
];

/** Returns the links to the next page and back; on the first page, that part also polls for new events. */
function following(wanted: Wanted, items: readonly FoundEvent[], isLive: boolean): Html {
  const { workspace, kind } = wanted;
  const link = (text: string, query: Record<string, string | undefined>) =>
    html`<a role="button" class="outline" href="/dashboard${eventsPath(workspace, query)}">${text}</a>`;
  if (!isLive) return html`<div class="actions">${link('Follow', { kind, live: '1' })}</div>`;
  return html`<div class="actions">${live(wanted, items, false)}${link('Stop', { kind })}</div>
<noscript>Reload the page to see new events.</noscript>`;
}

function live(
  { workspace, kind, after = 0 }: Wanted,
  items: readonly FoundEvent[],
  isReplaced: boolean,
): Html {
  const latest = formatPosition(items[0]?.entry.position ?? after);
  return html`<span id="live" role="status" hx-get="/dashboard${newsPath(workspace, kind, latest)}" hx-trigger="every 5s" hx-target="#events" hx-swap="afterbegin"${
    isReplaced && html` hx-swap-oob="true"`
  }>${isReplaced ? `${items.length} new at position ${latest}` : 'Waiting for events'}</span>`;
}

function list(ports: EventPagePorts, wanted: Wanted, found: FoundEvents, isNewest: boolean): Html {
  const { workspace, kind } = wanted;
  const { items, next_page_token: token } = found;
  return html`${items.length === 0 && empty(isNewest ? 'No events yet.' : 'There is nothing older.')}
<ol class="events" id="events">${lines(ports, wanted, items)}</ol>
${token && html`<p><a role="button" class="outline" rel="next" href="/dashboard${eventsPath(workspace, { kind, page_token: token })}">Older</a></p>`}`;
}

function lines({ names }: EventPagePorts, { workspace, view }: Wanted, items: readonly FoundEvent[]): Html[] {
  const shown = { workspace, names: view === 'full' ? names : undefined };
  return items.map((item) => eventLine(item, shown));
}
