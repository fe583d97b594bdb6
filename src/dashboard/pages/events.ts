import { z } from 'zod';
import type { AuditEntry } from '../../../projections/auditAggregation.ts';
import { addressOf } from '../../api/server/answer.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import type { DisclosedRange } from '../../domain/events/payloads.ts';
import { readinessStates } from '../../domain/events/readinessEvents.ts';
import {
  documentStream,
  encounterReadinessStream,
  readinessStream,
  recordStream,
} from '../../domain/events/streams.ts';
import { encounter } from '../../domain/records/kinds/encounter.ts';
import { validate } from '../../domain/records/schema/validation.ts';
import { type AccessRecorded, recordAccess } from '../../modules/audit/recordAccess.ts';
import { readAuditTrail } from '../../modules/audit/trail.ts';
import { eventTitle } from '../../modules/eventStream/asyncapi.ts';
import { ChangedFields, toNarrowedEvent } from '../../modules/eventStream/changedFields.ts';
import {
  type CloudEvent,
  feedEventType,
  feedEventTypes,
  type Selection,
  toCloudEvent,
} from '../../modules/eventStream/cloudEvents.ts';
import type { Deidentifier } from '../../modules/eventStream/deidentification.ts';
import {
  DeidentificationHistory,
  type SettingsAt,
} from '../../modules/eventStream/deidentificationSettings.ts';
import type { EventStream } from '../../modules/eventStream/eventStream.ts';
import { formatPosition, parsePosition } from '../../modules/eventStream/position.ts';
import type { RecordNames } from '../../modules/records/queries/lists.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { UnreadableError } from '../../platform/errors.ts';
import { defectText } from '../components/defects.ts';
import { filterForm, select } from '../components/forms.ts';
import { fieldLabel, titleOf } from '../components/labels.ts';
import {
  type DashboardRoute,
  everyone,
  type Html,
  type HtmlValue,
  html,
  phiReaders,
  type Reply,
  type Visit,
} from '../components/page.ts';
import { pageLinks } from '../components/paging.ts';
import { who } from '../components/people.ts';
import { filledQuery, readinessBadge, referredLink, unlessBehind } from '../components/recordTable.ts';
import { badge, bdi, code, empty, time, tryAgain } from '../components/text.ts';
import {
  documentsPath,
  eventsPath,
  eventsSection,
  newsPath,
  recordPath,
  worklistPath,
} from '../components/urls.ts';
import { recordsIn } from './auditTable.ts';
import { readNames } from './records/shared.ts';

/** Maximum characters shown of a payload, so that several of them do not make the page too heavy. */
const MOST_SHOWN = 4_000;

const missingTexts: Record<Missing, string> = {
  erased: 'This event was erased.',
  unreadable: 'This version of the service cannot read this event.',
};

/** Who sees the events, and where. */
interface EventViewer {
  workspace: string;
  /** Undefined in the de-identified view, which names nobody. */
  names: PrincipalNames | undefined;
  /** Undefined there, and while the read model of records is too far behind. */
  records: RecordNames | undefined;
}

/** Returns an event of the list: what happened to which record, what it changed, by whom and when; and its payload, collapsed. */
function eventLine(found: FoundEvent, shown: EventViewer): Html {
  const { kind, entry, event } = found;
  const position = formatPosition(entry.position);
  const isMissing = typeof event === 'string';
  return html`<li id="event-${position}">
<div>${isMissing ? html`<strong>${titleOf(kind)}</strong> ${badge(event, 'neutral')}` : html`<strong title="${event.type}">${whatHappened(event)}</strong>`}</div>
<div>${shown.names ? subject(found, shown) : hiddenSubject(event)}</div>
<div class="muted">${isMissing ? missingTexts[event] : outcome(event)}</div>
<div class="muted">${shown.names && by(found, shown.names)}</div>
<div class="muted">${shown.names ? time(entry.recordedAt) : entry.recordedAt.slice(0, 4)}</div>
${
  !isMissing &&
  html`<details><summary>Payload<span class="visually-hidden"> of ${position}</span></summary><pre tabindex="0" dir="auto"><code>${payload(event)}</code></pre></details>`
}
</li>`;
}

/** Returns what an event says in words; of a record, whether it was created or updated. */
function whatHappened({ type, data }: CloudEvent): string {
  return eventTitle({ type }).replace('created or updated', data.version === 1 ? 'created' : 'updated');
}

/** Returns the state of an encounter for billing after the event, with its defects; or the fields that an event changed. */
function outcome({ data: { sent, changed, version } }: CloudEvent): HtmlValue {
  const state = readinessStates.find((one) => one === sent.to);
  if (state !== undefined) {
    const found = Array.isArray(sent.rules)
      ? sent.rules.map((rule) => defectText(String(rule))).join(', ')
      : '';
    return html`<span title="${found}">${readinessBadge(state)} ${found}</span>`;
  }
  if (version === 1 || changed.length === 0) return undefined;
  const fields = changed.map(fieldLabel).join(', ');
  return html`<span title="${fields}">${fields}</span>`;
}

/**
 * Returns the link to the record, and to the version that the event created; for readiness, to the encounter or to the
 * worklist.
 */
function subject({ kind, entry }: FoundEvent, { workspace, records }: EventViewer): Html {
  const { id, documentId, version } = entry;
  if (id === undefined) return html`<a href="${worklistPath(workspace)}">all encounters</a>`;
  if (kind === 'readiness') return html`${referredLink(workspace, encounter.kind, id, records)}`;
  if (kind === 'document') {
    return html`<a href="/dashboard${documentsPath(workspace, id, documentId)}" title="${documentId}">${bdi(documentId ?? '')}</a> of ${referredLink(workspace, encounter.kind, id, records)}`;
  }
  return html`${referredLink(workspace, kind, id, records)} <a class="quiet-link nowrap" href="/dashboard${recordPath(workspace, kind, id)}?version=${version}">version ${version}</a>`;
}

function hiddenSubject(event: FoundEvent['event']): Html {
  if (typeof event === 'string') return html``;
  return html`<span title="${event.subject}">${code(event.subject)}</span> <span class="muted nowrap">version ${event.data.version}</span>`;
}

function by({ entry: { principal } }: FoundEvent, names: PrincipalNames): Html {
  return who({ ...principal, name: names.nameOf(principal) ?? null });
}

function payload(event: object): string {
  const text = JSON.stringify(event, null, 2);
  return text.length <= MOST_SHOWN ? text : `${text.slice(0, MOST_SHOWN)}…\nThe rest is not shown.`;
}

interface NewestEventsPorts extends QueryPorts {
  feed: EventStream;
}

/** Which events of a workspace are wanted, and how they are shown. */
interface EventSelection extends Pick<Selection, 'workspace' | 'view' | 'address'> {
  /** Only events of records of this kind, of documents, or of readiness. */
  kind: string | undefined;
  /** Only those after this position. */
  after?: Position;
  pageToken?: string | undefined;
}

/** Why an event cannot be shown. */
type Missing = 'erased' | 'unreadable';

/** An event that the stream carries, and what the audit trail says about it. */
interface FoundEvent {
  /** As named by the stream. */
  kind: string;
  entry: AuditEntry;
  event: CloudEvent | Missing;
}

interface FoundEvents {
  items: FoundEvent[];
  next_page_token: string | null;
}

/** Events that may be shown, and the names of the records that they are about, for who may read those. */
interface NamedEvents extends FoundEvents {
  records?: RecordNames | undefined;
}

const EVENTS_A_PAGE = 20;
/** Events of a readiness stream that are looked at together. */
const READINESS_EVENTS_AT_ONCE = 100;

const readinessTypes = feedEventTypes.filter(({ kind }) => kind === 'readiness').map((one) => one.logType);

/** Returns the kind of an entry's event, as named by the stream; undefined where the stream does not carry it. */
function kindOf({ type, kind, version }: AuditEntry): string | undefined {
  if (readinessTypes.includes(type)) return 'readiness';
  return version === undefined ? undefined : kind;
}

/**
 * Resolves with the newest events as returned by `GET /events`, newest first. The log can only be read forwards, so
 * the audit trail is used to find out which they are. Rejects with `unavailable`.
 */
async function newestEvents(ports: NewestEventsPorts, wanted: EventSelection): Promise<FoundEvents> {
  const { workspace, kind, after = 0, pageToken } = wanted;
  const found = await readAuditTrail(
    ports,
    workspace,
    {
      // The audit trail lists the outcome of an encounter in billing under the encounter.
      ...(kind !== undefined && kind !== 'readiness' && { kind }),
      scope: ['events', kind],
      isWanted: (entry) => kindOf(entry) !== undefined && (kind === undefined || kindOf(entry) === kind),
    },
    { limit: EVENTS_A_PAGE, pageToken },
  );
  const entries = found.items.filter(({ position }) => position > after);
  const [{ position: last = 0 } = {}] = entries;
  const narrowed =
    wanted.view === 'full'
      ? undefined
      : {
          deidentify: await ports.feed.deidentifier(wanted.view),
          settingsAt: await new DeidentificationHistory(ports.eventLog).of(workspace, last),
        };
  const items = await Promise.all(entries.map((entry) => findEvent(ports, wanted, entry, narrowed)));
  return { items: items.filter((item) => item !== undefined), next_page_token: found.next_page_token };
}

/** Resolves with an entry's event; undefined where the event stream does not carry it. */
async function findEvent(
  { eventLog }: NewestEventsPorts,
  { workspace, address }: EventSelection,
  entry: AuditEntry,
  narrowed: { deidentify: Deidentifier; settingsAt: SettingsAt } | undefined,
): Promise<FoundEvent | undefined> {
  const kind = kindOf(entry) ?? 'event';
  try {
    const event = await eventOf(eventLog, workspace, entry);
    if (event === undefined) return { kind, entry, event: 'erased' };
    if (feedEventType(event) === undefined) return undefined;
    const [change] = await new ChangedFields(eventLog).changes([event]);
    if (change === undefined || change instanceof UnreadableError)
      return { kind, entry, event: 'unreadable' };
    const shown = narrowed
      ? toNarrowedEvent(
          { ...narrowed, settings: narrowed.settingsAt(event.position) },
          event,
          change,
          address,
        )
      : toCloudEvent(event, change.changed, address);
    return { kind, entry, event: shown };
  } catch (error) {
    if (error instanceof UnreadableError) return { kind, entry, event: 'unreadable' };
    throw error;
  }
}

/** Resolves with an entry's event; undefined where it was erased. */
async function eventOf(
  eventLog: NewestEventsPorts['eventLog'],
  workspace: string,
  entry: AuditEntry,
): Promise<RecordedEvent | undefined> {
  const { kind = '', id = '', documentId = '', version = 1 } = entry;
  if (kindOf(entry) === 'readiness') {
    const stream =
      entry.id === undefined ? readinessStream(workspace) : encounterReadinessStream(workspace, id);
    return eventAt(eventLog, stream, entry.position);
  }
  const stream =
    kind === 'document' ? documentStream(workspace, id, documentId) : recordStream(workspace, kind, id);
  const [event] = await eventLog.readStream(stream, { from: version - 1, limit: 1 });
  return event?.position === entry.position ? event : undefined;
}

/** Resolves with the event of a stream at a position, searching from the stream's end. */
async function eventAt(
  eventLog: NewestEventsPorts['eventLog'],
  stream: string,
  position: Position,
): Promise<RecordedEvent | undefined> {
  for (let from: number | undefined; ; ) {
    const events = await eventLog.readStream(stream, {
      ...{ direction: 'backwards', limit: READINESS_EVENTS_AT_ONCE },
      ...(from !== undefined && { from }),
    });
    const last = events.at(-1);
    if (last === undefined || last.position <= position || last.revision === 0) {
      return events.find((event) => event.position === position);
    }
    from = last.revision - 1;
  }
}

interface EventPagePorts extends NewestEventsPorts {
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
${filterForm({ path: `/dashboard${eventsPath(workspace)}`, limits: { kind: query.kind }, fields: select({ name: 'kind', label: 'Kind', value: query.kind ?? '', options: kindOptions }) })}
${found ? list(ports, req, wanted, found) : tryAgain(req.originalUrl)}`;
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
    fragment: html`${lines(ports, wanted, found)}${
      isGap && html`<li class="muted">More events arrived in between. Reload the page to see them all.</li>`
    }${live(wanted, found.items, true)}`,
  };
}

function wantedBy({ publicUrl }: EventPagePorts, visit: Visit, kind: string | undefined): EventSelection {
  const { workspace, req } = visit;
  const view = visit.may(phiReaders) ? 'full' : 'deidentified';
  return { workspace, kind, view, address: addressOf(req, publicUrl) };
}

/**
 * Resolves with the events, once the audit trail says that they were shown; where there are none, nothing was shown.
 */
async function read(ports: EventPagePorts, { caller }: Visit, wanted: EventSelection): Promise<NamedEvents> {
  const found = await newestEvents(ports, wanted);
  const entries = found.items.map(({ entry }) => entry);
  const about = wanted.view === 'full' ? recordsIn(entries) : [];
  const { names: records, accesses } = await readNames(ports, wanted.workspace, about);
  const readable = found.items.filter(({ event }) => typeof event !== 'string');
  const positions = readable.map(({ entry }) => entry.position);
  const reads: AccessRecorded[] = [];
  if (positions.length > 0) {
    const { kind, view } = wanted;
    const types = feedEventTypes.filter((one) => one.kind === kind).map(({ eventType }) => eventType);
    const shown: DisclosedRange = {
      ranges: [{ from: Math.min(...positions), to: Math.max(...positions) }],
      count: readable.length,
      ...(kind !== undefined && { event_types: types }),
      ...(view === 'deidentified' && { view }),
    };
    const query = { ...(kind !== undefined && { kinds: kind }), view };
    reads.push({ action: 'events.read', query, shown });
  }
  const [first, ...others] = [...reads, ...accesses];
  if (first) await recordAccess(ports.eventLog, caller, first, ...others);
  if (wanted.view === 'full') await ports.names.learn(entries.map(({ principal }) => principal));
  return { ...found, records };
}

const kindOptions = [
  { value: '', text: 'Any kind' },
  ...kinds.map((value) => ({ value, text: fieldLabel(value) })),
];

/** Returns the links to the next page and back; on the first page, that part also polls for new events. */
function following(wanted: EventSelection, items: readonly FoundEvent[], isLive: boolean): Html {
  const { workspace, kind } = wanted;
  const link = (text: string, query: Record<string, string | undefined>) =>
    html`<a role="button" class="outline" href="/dashboard${eventsPath(workspace, query)}">${text}</a>`;
  if (!isLive) return html`<div class="actions">${link('Follow', { kind, live: '1' })}</div>`;
  return html`<div class="actions">${live(wanted, items, false)}${link('Stop', { kind })}</div>
<noscript>Reload the page to see new events.</noscript>`;
}

function live(
  { workspace, view, kind, after = 0 }: EventSelection,
  items: readonly FoundEvent[],
  isReplaced: boolean,
): Html {
  const latest = formatPosition(items[0]?.entry.position ?? after);
  const at = view === 'full' && items[0] ? html`, the latest at ${time(items[0].entry.recordedAt)}` : '';
  return html`<span id="live" role="status" hx-get="/dashboard${newsPath(workspace, kind, latest)}" hx-trigger="every 5s" hx-target="#events" hx-swap="afterbegin"${
    isReplaced && html` hx-swap-oob="true"`
  }>${isReplaced ? html`${items.length} new${at}` : 'Waiting for events'}</span>`;
}

function list(ports: EventPagePorts, req: Visit['req'], wanted: EventSelection, found: NamedEvents): Html {
  const { items, next_page_token: token } = found;
  return html`${items.length === 0 && empty(wanted.pageToken === undefined ? 'No events yet.' : 'There is nothing older.')}
<ol class="events" id="events">${lines(ports, wanted, found)}</ol>
${pageLinks(req, { token })}`;
}

function lines({ names }: EventPagePorts, { workspace, view }: EventSelection, found: NamedEvents): Html[] {
  const shown = { workspace, names: view === 'full' ? names : undefined, records: found.records };
  return found.items.map((item) => eventLine(item, shown));
}
