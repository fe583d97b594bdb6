import { messageAccesses } from '../../modules/audit/accesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { Workspace } from '../../modules/auth/apiKeys.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { fieldNames } from '../../modules/integrations/hl7/fieldNames.ts';
import {
  isWaiting,
  MAX_ABOUT,
  MAX_PROBLEMS,
  type Message,
} from '../../modules/integrations/messages/message.ts';
import {
  type LineagePorts,
  type RecordLineage,
  readLineage,
} from '../../modules/integrations/replay/lineage.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import { notFound } from '../../platform/errors.ts';
import { fieldLabel, titleOf, wordsOf } from '../components/labels.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  messageEditors,
  messageWorkers,
  phiReaders,
  type Reply,
  requestReaders,
  type Visit,
} from '../components/page.ts';
import { who } from '../components/people.ts';
import { fieldValue, fileSize, originCell } from '../components/records.ts';
import { definitionList, table } from '../components/tables.ts';
import { badge, code, empty, time } from '../components/text.ts';
import { messagePath, messagesPath, messagesSection, recordPath } from '../components/urls.ts';
import { MOST_SHOWN_BYTES, messageContent, severityTones } from './messageContent.ts';
import {
  type AboutNames,
  aboutLink,
  formatTexts,
  type MessagePagePorts,
  problemText,
  stateBadge,
} from './messages.ts';
import { readNames } from './records/shared.ts';

/** Maximum number of records of a message whose fields are shown. */
const MOST_RECORDS = 100;

/**
 * Resolves with where the fields of a message's records come from. Rejects with `not_found` where it no longer
 * exists, and with `unavailable`.
 */
async function messageFields(ports: LineagePorts, workspace: Workspace, message: Message): Promise<Html> {
  if (message.size > MOST_SHOWN_BYTES) {
    return html`${empty(`The message is ${fileSize(message.size)}, too large to read again here.`)}
<p>${code(`chartledger messages show ${message.id} --workspace ${workspace.id} --fields`)} shows its fields.</p>`;
  }
  const lineage = await readLineage(ports, workspace, message);
  if (lineage.length === 0) return empty('Read again, it contains nothing about any record.');
  return html`${lineage.slice(0, MOST_RECORDS).map((one) => fieldsOf(message, one))}
${lineage.length > MOST_RECORDS && html`<p class="muted">Showing the first ${MOST_RECORDS} of ${lineage.length.toLocaleString('en-US')}.</p>`}`;
}

function fieldsOf({ format }: Message, { kind, id, fields }: RecordLineage): Html {
  const title = `${titleOf(kind)} ${id}`;
  return html`<h3>${title}</h3>
${table(
  `Fields of ${title}`,
  [
    { title: 'Field', isHeader: true, cell: ({ field }) => fieldLabel(field) },
    {
      title: 'Value',
      cell: ({ value }) =>
        value === null
          ? html`<span class="muted">empty: the field is cleared</span>`
          : value !== undefined && fieldValue(value),
    },
    { title: 'From', cell: (one) => originCell(format, one) },
  ],
  fields,
)}`;
}

interface OneMessagePorts extends MessagePagePorts {
  names: PrincipalNames;
  directory: Pick<KeyDirectory, 'known'>;
}

/** `…/messages/{id}`: the result of a message and, on request, the message as it arrived. */
export function messagePageRoutes(ports: OneMessagePorts): DashboardRoute[] {
  const path = '/workspaces/:workspace/messages/:message';
  return [
    {
      method: 'get',
      path,
      roles: requestReaders,
      query: ['content', 'fields'],
      handle: (visit) => show(ports, visit),
    },
    {
      method: 'get',
      path: `${path}/download`,
      roles: phiReaders,
      query: [],
      handle: (visit) => download(ports, visit),
    },
  ];
}

async function show(ports: OneMessagePorts, visit: Visit): Promise<Reply> {
  const { workspace, caller, req, may } = visit;
  const message = await findMessage(ports, visit);
  const mayRead = may(phiReaders);
  const isContentAsked = mayRead && req.query.content !== undefined;
  const areFieldsAsked = mayRead && req.query.fields !== undefined;
  const { names, accesses } = await readNames(ports, workspace, mayRead ? message.about : []);
  const read = messageAccesses(message, isContentAsked || areFieldsAsked);
  await recordAccess(ports.eventLog, caller, ...read, ...accesses);
  const content = isContentAsked ? await messageContent(ports.messages, message) : undefined;
  const known = ports.directory.known.workspaces.get(workspace);
  const fields = areFieldsAsked && known ? await messageFields(ports, known, message) : undefined;
  await ports.names.learn([message.sent_by, message.put_aside?.by ?? message.sent_by]);
  const path = `/dashboard${messagePath(workspace, message.id)}`;
  const body = html`${breadcrumb([{ text: messagesSection, path: messagesPath(workspace) }])}
<h1>${messageTitle(message)}</h1>
<p>${stateBadge(message.state)} ${stateTexts[message.state]}</p>
${message.problems.length > 0 && html`<h2>Problems</h2>${problems(message)}`}
${message.state !== 'accepted' && message.corrected_by === undefined && workOn(visit, message)}
<h2>Records</h2>
${records(workspace, message, mayRead ? { names } : undefined)}
<h2>Details</h2>
<div class="record-fields">${definitionList(factsOf(ports, workspace, message))}</div>
${
  mayRead &&
  html`<h2 id="fields">Where fields come from</h2>
<p class="muted">The message is read again as it was read before. For each field of its records, this shows the place in the message and the rule.</p>
${fields ?? html`<p class="actions"><a role="button" class="outline" href="${path}?fields=shown#fields">Show where fields come from</a></p>`}
<h2 id="content">As received</h2>
<p class="actions">${
    content === undefined &&
    html`<a role="button" class="outline" href="${path}?content=shown#content">Show the message</a>`
  }<a role="button" class="outline secondary" href="${path}/download">Download</a></p>
<p class="muted">What the EMR sent, including all patient data. Viewing it is recorded in the audit trail.</p>
${content}`
}`;
  return { page: { title: messageTitle(message), section: messagesSection, body } };
}

/** Returns what people call a message: its format, and its event if it names one. */
export function messageTitle({ format, event = '' }: Message): string {
  return `${formatTexts[format]} message ${event.replace('^', ' ')}`.trim();
}

/** Rejects with `not_found` also for a message of another workspace. */
export async function findMessage(
  { messages }: Pick<OneMessagePorts, 'messages'>,
  { req, workspace }: Visit,
): Promise<Message> {
  const found = await messages.load(workspace, String(req.params.message));
  if (found === undefined) throw notFound('Message');
  return found;
}

function factsOf({ names }: OneMessagePorts, workspace: string, message: Message) {
  const { id, source, event, control_id, format, media_type, size, sha256 } = message;
  const { sent_by, request_id, put_aside } = message;
  return [
    ['Received', time(message.received_at)],
    ...(event === undefined ? [] : [['Event', html`<bdi>${event.replace('^', ' ')}</bdi>`] as const]),
    ...(control_id === undefined ? [] : [['Control ID', html`<bdi>${code(control_id)}</bdi>`] as const]),
    ['Source', html`<a href="/dashboard${messagesPath(workspace, { source })}">${source}</a>`],
    ['Format', html`${formatTexts[format]} <small class="muted">${media_type}</small>`],
    ['Records', message.records.toLocaleString('en-US')],
    ['Sent by', who({ ...sent_by, name: names.nameOf(sent_by) ?? null })],
    ['Size', fileSize(size)],
    ['SHA-256', html`<code class="digest">${sha256}</code>`],
    ['Kept until', time(message.expires_at)],
    ['ID', code(id)],
    ...corrections(workspace, message),
    ...(put_aside
      ? [
          [
            'Put aside',
            html`${time(put_aside.at)}, by ${who({ ...put_aside.by, name: names.nameOf(put_aside.by) ?? null })}<br>${put_aside.reason}`,
          ] as const,
        ]
      : []),
    ['Request ID', code(request_id)],
  ] as const;
}

/** Returns the links from a message to the one that corrects it, and back. */
function corrections(workspace: string, { corrects, corrected_by }: Message): [string, Html][] {
  const named = [
    ['Corrects', corrects],
    ['Corrected by', corrected_by],
  ] as const;
  return named.flatMap(([title, other]): [string, Html][] =>
    other === undefined
      ? []
      : [[title, html`<a href="/dashboard${messagePath(workspace, other)}">${code(other)}</a>`]],
  );
}

const stateTexts: Record<Message['state'], string> = {
  received: 'it is being processed, or was interrupted: then the sender got no response, and sends it again',
  accepted: 'all of it was accepted',
  partly: 'part of it was refused',
  rejected: 'none of it was accepted',
};

/** Returns a place in a message; a field of HL7 v2 with its name. */
function placeCell(at: string): Html {
  if (at === '') return html`The whole message`;
  const [segment, , field] = at.split('^');
  const name = fieldNames.get(`${segment}-${field}`);
  return html`${code(at)}${name !== undefined && html` <small class="muted">${name}</small>`}`;
}

/** Returns what is wrong with a message. */
export function problems({ problems: all }: Pick<Message, 'problems'>): Html {
  if (all.length === 0) return empty('No problems found.');
  return html`${table(
    'Problems of the message',
    [
      { title: 'Where', isHeader: true, cell: ({ at }) => placeCell(at) },
      { title: 'Severity', cell: ({ severity }) => badge(severity, severityTones[severity]) },
      {
        title: 'Problem',
        cell: ({ text, code: reason }) =>
          html`${problemText({ text })}<br><small class="muted">Code ${reason}</small>`,
      },
    ],
    all,
  )}
${all.length === MAX_PROBLEMS && html`<p class="muted">Showing the first ${MAX_PROBLEMS}.</p>`}`;
}

/** Returns what can be done with a message that was not fully accepted, by those who may. */
function workOn({ workspace, may, csrf }: Visit, message: Message): Html {
  const path = `/dashboard${messagePath(workspace, message.id)}`;
  if (!may(messageWorkers))
    return html`<p>Once the cause is fixed, an administrator or integrator can process the message again. The EMR need not send it again.</p>`;
  return html`<p>Once the cause is fixed, process the message again: the EMR need not send it again. Values that changed since it arrived are not overwritten.</p>
<form method="post" action="${path}/resend">${csrf}
<div class="actions"><button type="submit">Resend</button>
${may(messageEditors) && html`<a role="button" class="outline" href="${path}/correct">Correct</a>`}
${isWaiting(message) && html`<a role="button" class="outline secondary" href="${path}/put-aside">Put aside</a>`}</div>
</form>`;
}

const outcomeTones: Record<string, 'good' | 'bad' | 'neutral'> = { created: 'good', refused: 'bad' };

/** Returns the records that a message is about, with links to those that exist; without `shown`, only their kinds. */
export function records(
  workspace: string,
  { about, records: count }: Pick<Message, 'about' | 'records'>,
  shown: AboutNames | undefined,
): Html {
  if (about.length === 0) return empty('The message is about no record.');
  return html`${table(
    'Records in the message',
    [
      {
        title: 'Record',
        isHeader: true,
        cell: (one) => html`${titleOf(one.kind)}${shown && html` ${aboutLink(workspace, one, shown.names)}`}`,
      },
      {
        title: 'Outcome',
        cell: ({ outcome = 'in progress' }) => badge(wordsOf(outcome), outcomeTones[outcome] ?? 'neutral'),
      },
      {
        title: 'Version',
        cell: ({ kind, id, version }) =>
          version !== undefined &&
          (shown
            ? html`<a href="/dashboard${recordPath(workspace, kind, id)}?version=${version}" aria-label="Version ${version} of ${kind} ${id}">${version}</a>`
            : version),
      },
    ],
    about,
  )}
${count > MAX_ABOUT && html`<p class="muted">Showing the first ${MAX_ABOUT.toLocaleString('en-US')} of ${count.toLocaleString('en-US')}.</p>`}`;
}

async function download(ports: OneMessagePorts, visit: Visit): Promise<Reply> {
  const message = await findMessage(ports, visit);
  const { id, format, media_type, size } = message;
  const body = await ports.messages.bytes(message);
  try {
    await recordAccess(ports.eventLog, visit.caller, ...messageAccesses(message, true));
  } catch (error) {
    body.destroy();
    throw error;
  }
  visit.res.set('Content-Length', String(size));
  const ending = format === 'hl7v2' ? 'hl7' : /ndjson/.test(media_type) ? 'ndjson' : 'json';
  return { download: { type: 'application/octet-stream', name: `${id}.${ending}`, body } };
}
