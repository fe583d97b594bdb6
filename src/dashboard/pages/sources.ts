import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { setIn } from '../../modules/integrations/mapping.ts';
import { type UnusedEvent, UnusedMessages } from '../../modules/integrations/messages/unused.ts';
import {
  BUILT_IN_SOURCE,
  bindingTexts,
  DEFAULT_RETENTION_DAYS,
  DEFAULT_TIME_ZONE,
  isDefault,
  readSources,
  type Source,
  sourceFormats,
} from '../../modules/integrations/sources.ts';
import { notFound } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import {
  type DashboardRoute,
  type Html,
  type HtmlValue,
  html,
  integrators,
  type Page,
  requestReaders,
  type Visit,
} from '../components/page.ts';
import { table } from '../components/tables.ts';
import { badge, bdi, code, idBeside, time } from '../components/text.ts';
import { messagesPath, sourcePath, sourcesPath, sourcesSection } from '../components/urls.ts';
import { formatTexts } from './messages.ts';

/** Resolves with the source named by the path. Rejects with `not_found`. */
export async function findSource(eventLog: EventLog, { req, workspace }: Visit): Promise<Source> {
  const sources = await readSources(eventLog, workspace);
  const found = sources.find(({ id }) => id === req.params.source);
  if (found === undefined) throw notFound('Source');
  return found;
}

export interface SourcePagePorts {
  eventLog: EventLog;
  stateStore: StateStore;
  directory: KeyDirectory;
}

/** Settings, Sources of a workspace: what EMRs send to it, and how that is read. */
export function sourcesRoutes(ports: SourcePagePorts): DashboardRoute[] {
  return [
    {
      method: 'get',
      path: '/workspaces/:workspace/sources',
      roles: requestReaders,
      async handle(visit) {
        await ports.directory.refresh();
        const { workspace } = visit;
        const sources = await readSources(ports.eventLog, workspace);
        const unused = await new UnusedMessages(ports.stateStore).of(workspace);
        return { page: listPage(ports, visit, sources, unused) };
      },
    },
  ];
}

function listPage(
  { directory }: SourcePagePorts,
  { workspace, may }: Visit,
  sources: Source[],
  unused: ReadonlyMap<string, readonly UnusedEvent[]>,
): Page {
  const mayChange = may(integrators);
  return {
    title: sourcesSection,
    section: sourcesSection,
    body: html`<div class="page-head"><h1>Sources</h1>
${mayChange && html`<div class="actions"><a role="button" href="/dashboard${sourcesPath(workspace)}/new">Configure a source</a></div>`}</div>
<p>A source is an EMR that sends FHIR or HL7 v2 to the workspace ${code(workspace)}. Its settings say how its messages are read: which identifiers are the record IDs, and which time zone times are in. The API key of a request, or the MLLP connection, selects the source.</p>
${sources.length > 0 && sourceTable(directory, workspace, sources, mayChange)}
${sources.map(({ id }) => unusedTable(id, unused.get(id) ?? []))}
${builtIn(sources)}`,
  };
}

function sourceTable(
  directory: KeyDirectory,
  workspace: string,
  sources: readonly Source[],
  mayChange: boolean,
): Html {
  return table<Source>(
    'Sources',
    [
      {
        title: 'Source',
        isHeader: true,
        cell: ({ id }) =>
          html`${id} <a href="/dashboard${messagesPath(workspace, { source: id })}" aria-label="Messages of ${id}">Messages</a>`,
      },
      { title: 'Format', cell: ({ format }) => html`<span class="nowrap">${formatTexts[format]}</span>` },
      { title: 'API key or MLLP', cell: (source) => senderCell(directory, source) },
      { title: 'Time zone', cell: ({ time_zone }) => time_zone },
      { title: 'IDs, facility, mapping', cell: settingsCell },
      { title: 'Message retention', cell: ({ retention_days: days }) => retentionText(days) },
      ...(mayChange
        ? [{ title: 'Actions', isTitleHidden: true, cell: ({ id }: Source) => actions(workspace, id) }]
        : []),
    ],
    sources,
  );
}

/** Returns how many messages of which event were acknowledged and not used. */
function unusedTable(source: string, events: readonly UnusedEvent[]): Html | undefined {
  if (events.length === 0) return undefined;
  return html`<h2>Messages of ${source} that are not used</h2>
<p>They were acknowledged, and nothing else of them was kept.</p>
${table<UnusedEvent>(
  `Messages of ${source} that are not used`,
  [
    { title: 'Event', isHeader: true, cell: ({ event }) => code(event) },
    { title: 'Messages', cell: ({ count }) => count.toLocaleString('en-US') },
    { title: 'Last', cell: ({ last_at }) => time(last_at) },
  ],
  events,
)}`;
}

/** Returns how messages of the source are recognized. */
function senderCell({ known }: KeyDirectory, source: Source): HtmlValue {
  if (isDefault(source)) return 'any key that no other source of the format has';
  const { key, mllp } = source;
  const found = key === undefined ? undefined : known.keys.get(key);
  return html`${key && html`<div>${found && bdi(found.name)} ${idBeside(key)}${found?.state !== 'active' && html` ${badge(found?.state ?? 'unknown', 'bad')}`}</div>`}${
    mllp &&
    html`<div><span class="muted">MLLP</span>${bindingTexts(mllp).map((text) => html`<br>${text}`)}</div>`
  }`;
}

/** Returns what a source has of its own for its format. */
function settingsCell({
  id_systems,
  bundles,
  patient_authority,
  visit_authority,
  visit_from,
  insurance_sets,
  others,
  facility,
  mapping,
}: Source): HtmlValue {
  const named = {
    ...id_systems,
    Bundles: bundles && (bundles === 'any' ? 'also searchset, collection, history, message' : bundles),
    'Patient authority': patient_authority,
    'Visit authority': visit_authority,
    'Visit number': visit_from?.join(', '),
    Insurances: insurance_sets && `${insurance_sets} sets`,
    'Other messages': others && `${others}ed`,
    Facility: facility && html`${bdi(facility.name)} ${idBeside(facility.id)}`,
  };
  const lines = Object.entries(named).filter(([, value]) => value !== undefined);
  const mapped = setIn(mapping);
  if (lines.length + mapped.length === 0) return html`<span class="muted">none</span>`;
  return html`${lines.map(([name, value]) => settingLine(name, value))}${mapped.map(([option, what]) =>
    typeof what === 'string' ? settingLine(option, what) : codesOf(option, what),
  )}`;
}

function settingLine(name: string, value: HtmlValue): Html {
  return html`<div><span class="muted">${name}</span> ${value}</div>`;
}

function codesOf(option: string, codes: Readonly<Record<string, string>>): Html {
  const entries = Object.entries(codes);
  return html`<details><summary>${option}: ${entries.length} ${entries.length === 1 ? 'code' : 'codes'}</summary>${entries.map(
    ([from, to]) => html`<div>${code(from)} → ${to}</div>`,
  )}</details>`;
}

function retentionText(days: number = DEFAULT_RETENTION_DAYS): string {
  return days === 1 ? '1 day' : `${days.toLocaleString('en-US')} days`;
}

function actions(workspace: string, id: string): Html {
  const link = (action: 'edit' | 'remove', text: string) =>
    html`<a href="/dashboard${sourcePath(workspace, id, action)}" aria-label="${text} ${id}">${text}</a>`;
  return html`<div class="actions">${link('edit', 'Edit')}${link('remove', 'Remove')}</div>`;
}

/** Describes what applies where no configured source does. */
function builtIn(sources: readonly Source[]): Html | undefined {
  const open = sourceFormats.filter(
    (format) => !sources.some((source) => source.format === format && isDefault(source)),
  );
  if (open.length === 0) return undefined;
  const formats = open.map((format) => formatTexts[format]).join(' and ');
  return html`<p class="muted">Messages in ${formats} with an API key that no source has are read by the source ${code(BUILT_IN_SOURCE)} with default settings: IDs as sent, times without an offset in ${DEFAULT_TIME_ZONE}.</p>`;
}
