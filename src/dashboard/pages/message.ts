import { buffer } from 'node:stream/consumers';
import { messageAccesses } from '../../modules/audit/accesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import type { Workspace } from '../../modules/auth/apiKeys.ts';
import type { KeyDirectory } from '../../modules/auth/keyDirectory.ts';
import { decode } from '../../modules/integrations/hl7/framing.ts';
import {
  type Encoding,
  type Hl7Message,
  parseMessage,
  type Segment,
  unescapeText,
} from '../../modules/integrations/hl7/parser.ts';
import { MAX_ABOUT, MAX_PROBLEMS, type Message } from '../../modules/integrations/messages/message.ts';
import type { MessageStore } from '../../modules/integrations/messages/store.ts';
import {
  type LineagePorts,
  type RecordLineage,
  readLineage,
} from '../../modules/integrations/replay/lineage.ts';
import type { PrincipalNames } from '../../modules/records/queries/principalNames.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { notFound } from '../../platform/errors.ts';
import { breadcrumb } from '../components/layout.ts';
import {
  type DashboardRoute,
  type Html,
  html,
  phiReaders,
  type Reply,
  requestReaders,
  type Visit,
} from '../components/page.ts';
import { who } from '../components/people.ts';
import { definitionList, fieldValue, fileSize, originCell } from '../components/records.ts';
import { table } from '../components/tables.ts';
import { badge, code, empty, fieldLabel, time, titleOf, wordsOf } from '../components/text.ts';
import { messagePath, messagesPath, messagesSection, recordPath } from '../components/urls.ts';
import { formatTexts, type MessagePagePorts, stateBadge } from './messages.ts';

/** After this many values the rest of a message is left out. */
const MOST_VALUES = 5_000;
/** Maximum number of repetitions of a field, components of one, and subcomponents. */
const MOST_PARTS = 50;
/** What `""` means. */
const CLEARED = 'empty: the field is cleared';
/** Maximum characters shown of a value. */
const MOST_CHARACTERS = 500;

interface Component {
  /** Such as `PID-3.1`. */
  name: string;
  text: string;
}

interface Field {
  /** Such as `PID-3`. */
  name: string;
  /** Its content, by its repetitions and their components. */
  repetitions: Component[][];
}

/** Returns a message by its segments, and these by their non-empty fields, with escape sequences resolved. */
function hl7Segments({ segments, encoding }: Hl7Message): Html {
  let room = MOST_VALUES;
  const shown: Html[] = [];
  for (const segment of segments) {
    if (room <= 0) break;
    room--;
    const fields: Field[] = [];
    for (let number = 1; number <= segment.length && room > 0; number++) {
      const field = fieldOf(segment, number, encoding);
      if (field.repetitions.length > 0) fields.push(field);
      room -= field.repetitions.flat().length;
    }
    shown.push(segmentTable(segment, fields));
  }
  return html`${shown}
${(room <= 0 || segments.some(({ isCut }) => isCut)) && html`<p class="muted">Only the beginning of this long message is shown here. See the text for all of it.</p>`}`;
}

function segmentTable(segment: Segment, fields: readonly Field[]): Html {
  const title = `${segment.name} ${segment.sequence}`;
  return html`<h3>${title}</h3>
${
  fields.length === 0
    ? html`<p class="muted">No fields have a value.</p>`
    : table(
        `Fields of ${title}`,
        [
          { title: 'Field', isHeader: true, cell: ({ name }) => html`<span class="nowrap">${name}</span>` },
          { title: 'Value', cell: repetitionsHtml },
        ],
        fields,
      )
}`;
}

function repetitionsHtml({ repetitions }: Field): Html {
  return html`${repetitions.map((components) => {
    const [only] = components;
    if (components.length === 1 && only?.name.endsWith('.1')) return html`<div>${only.text}</div>`;
    return html`<div>${components.map(({ name, text }) => html`<span class="component">${code(name)} ${text}</span> `)}</div>`;
  })}`;
}

function fieldOf(segment: Segment, number: number, encoding: Encoding): Field {
  const name = `${segment.name}-${number}`;
  const isDelimiters = segment.name === 'MSH' && number <= 2;
  if (isDelimiters) return { name, repetitions: [[{ name: `${name}.1`, text: segment.text(number) }]] };
  const repetitions = segment.repetitions(number).slice(0, MOST_PARTS);
  const components = repetitions.map(({ text }) => componentsOf(name, text, encoding));
  return { name, repetitions: components.filter(({ length }) => length > 0) };
}

function componentsOf(
  field: string,
  repetition: string,
  { delimiters, characterSet }: Encoding,
): Component[] {
  return repetition.split(delimiters.component, MOST_PARTS).flatMap((component, at) => {
    if (component === '') return [];
    const parts = component.split(delimiters.subcomponent, MOST_PARTS);
    const texts = parts.map((part) =>
      part === '""' ? CLEARED : unescapeText(part, delimiters, characterSet),
    );
    return [{ name: `${field}.${at + 1}`, text: shortened(texts.join(' & ')) }];
  });
}

function shortened(text: string): string {
  if (text.length <= MOST_CHARACTERS) return text;
  return `${text.slice(0, MOST_CHARACTERS)}… (${text.length.toLocaleString('en-US')} characters)`;
}

/**
 * Beyond this depth, lines are not indented further: the layout stays within a few times the size of what was sent.
 */
const MOST_INDENTED = 16;

const TOKENS = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** Returns JSON on lines by its nesting, each value as sent; undefined for what is not JSON. */
function layOutJson(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const parts: string[] = [];
  let depth = 0;
  let before = '';
  for (const [token] of text.matchAll(TOKENS)) {
    const isEnd = token === '}' || token === ']';
    if (isEnd) depth--;
    const isLineEnd = before === ',' || before === '{' || before === '[';
    const isEmpty = isEnd && (before === '{' || before === '[');
    if ((isEnd || isLineEnd) && !isEmpty) parts.push('\n', '  '.repeat(Math.min(depth, MOST_INDENTED)));
    else if (before === ':') parts.push(' ');
    parts.push(token);
    if (token === '{' || token === '[') depth++;
    before = token;
  }
  return parts.join('');
}

/** Larger messages are not shown in a page. */
const MOST_SHOWN_BYTES = 1024 * 1024;

/** What no text contains: control characters other than tabs and line ends. */
const NO_TEXT = /[^\P{Cc}\t\r\n]/u;

/**
 * Resolves with a message as it arrived, and as it is read. Rejects with `not_found` where it no longer exists, and
 * with `unavailable`.
 */
async function messageContent(store: MessageStore, message: Message): Promise<Html> {
  if (message.size > MOST_SHOWN_BYTES) {
    return empty(`The message is ${fileSize(message.size)}, too large to show here. Download it to view it.`);
  }
  const bytes = await buffer(await store.bytes(message));
  const content = message.format === 'hl7v2' ? hl7Content(bytes) : fhirContent(bytes);
  return content ?? empty('The message is not text. Download it to view it.');
}

function hl7Content(bytes: Buffer): Html | undefined {
  const message = parseMessage(bytes);
  const { refusal, encoding } = message;
  const text = textOf(bytes, refusal ? 'utf-8' : encoding.characterSet);
  if (text === undefined) return undefined;
  return html`${refusal ? html`<p class="banner">The message cannot be read. ${refusal.issues[0]?.text}</p>` : hl7Segments(message)}
<h3>Text</h3>
${block(text.replaceAll(/\r\n?/g, '\n'))}`;
}

/** Returns a resource, or the lines of Bulk Data; what is not JSON stays as sent. */
function fhirContent(bytes: Buffer): Html | undefined {
  const text = textOf(bytes, 'utf-8');
  if (text === undefined) return undefined;
  const whole = layOutJson(text);
  if (whole !== undefined) return block(whole);
  const lines = text.split(/\r?\n/).filter((line) => line.trim() !== '');
  return block(lines.map((line) => layOutJson(line) ?? line).join('\n'));
}

function textOf(bytes: Buffer, characterSet: string): string | undefined {
  const text = decode(bytes, characterSet);
  return text === undefined || NO_TEXT.test(text) ? undefined : text;
}

function block(text: string): Html {
  return html`<pre class="message-text" tabindex="0"><code>${text}</code></pre>`;
}

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

interface OneMessagePorts extends MessagePagePorts, QueryPorts {
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
  const message = await find(ports, visit);
  const mayRead = may(phiReaders);
  const isContentAsked = mayRead && req.query.content !== undefined;
  const areFieldsAsked = mayRead && req.query.fields !== undefined;
  await recordAccess(ports.eventLog, caller, ...messageAccesses(message, isContentAsked || areFieldsAsked));
  const content = isContentAsked ? await messageContent(ports.messages, message) : undefined;
  const known = ports.directory.known.workspaces.get(workspace);
  const fields = areFieldsAsked && known ? await messageFields(ports, known, message) : undefined;
  await ports.names.learn([message.sent_by]);
  const path = `/dashboard${messagePath(workspace, message.id)}`;
  const body = html`${breadcrumb([{ text: messagesSection, path: messagesPath(workspace) }])}
<h1>Message</h1>
${definitionList(factsOf(ports, workspace, message))}
<h2>Problems</h2>
${problems(message)}
${message.state !== 'accepted' && message.corrected_by === undefined && sendAgain(workspace, message)}
<h2>Records</h2>
${records(workspace, message, mayRead)}
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
  return { page: { title: 'Message', section: messagesSection, body } };
}

/** Rejects with `not_found` also for a message of another workspace. */
async function find({ messages }: OneMessagePorts, { req, workspace }: Visit): Promise<Message> {
  const found = await messages.load(workspace, String(req.params.message));
  if (found === undefined) throw notFound('Message');
  return found;
}

function factsOf({ names }: OneMessagePorts, workspace: string, message: Message) {
  const { id, source, format, media_type, state, size, sha256, sent_by, request_id } = message;
  return [
    ['Received', time(message.received_at)],
    ['State', html`${stateBadge(state)}<br>${stateTexts[state]}`],
    ['Source', html`<a href="/dashboard${messagesPath(workspace, { source })}">${source}</a>`],
    ['Format', html`${formatTexts[format]}<br><small class="muted">${media_type}</small>`],
    ['Records', message.records.toLocaleString('en-US')],
    ['Sent by', who({ ...sent_by, name: names.nameOf(sent_by) ?? null })],
    ['Size', fileSize(size)],
    ['SHA-256', html`<code class="digest">${sha256}</code>`],
    ['Kept until', time(message.expires_at)],
    ['ID', code(id)],
    ...corrections(workspace, message),
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

const severityTones = { error: 'bad', warning: 'neutral', information: 'neutral' } as const;

function problems({ problems: all }: Message): Html {
  if (all.length === 0) return empty('No problems found.');
  return html`${table(
    'Problems of the message',
    [
      { title: 'Where', isHeader: true, cell: ({ at }) => (at === '' ? 'The whole message' : code(at)) },
      { title: 'Severity', cell: ({ severity }) => badge(severity, severityTones[severity]) },
      {
        title: 'Problem',
        cell: ({ text, code: reason }) => html`${text}<br><small class="muted">${reason}</small>`,
      },
    ],
    all,
  )}
${all.length === MAX_PROBLEMS && html`<p class="muted">Showing the first ${MAX_PROBLEMS}.</p>`}`;
}

function sendAgain(workspace: string, { id }: Message): Html {
  return html`<p>Once the cause is fixed, the EMR need not send it again: process it with ${code(`chartledger messages resend ${id} --workspace ${workspace}`)}. To correct the message itself, use ${code(`chartledger messages correct ${id} --file FILE --workspace ${workspace}`)}.</p>`;
}

const outcomeTones: Record<string, 'good' | 'bad' | 'neutral'> = { created: 'good', refused: 'bad' };

/**
 * Returns links to the records, except for those of which nothing was accepted: they may not exist. Without `mayRead`,
 * their ids are left out.
 */
function records(workspace: string, { about, records: count }: Message, mayRead: boolean): Html {
  if (about.length === 0) return empty('The message is about no record.');
  const isThere = ({ outcome }: Message['about'][number]) => outcome !== undefined && outcome !== 'refused';
  return html`${table(
    'Records in the message',
    [
      {
        title: 'Record',
        isHeader: true,
        cell: (one) => {
          if (!mayRead) return titleOf(one.kind);
          const path = `/dashboard${recordPath(workspace, one.kind, one.id)}`;
          return html`${titleOf(one.kind)} ${isThere(one) ? html`<a href="${path}">${one.id}</a>` : one.id}`;
        },
      },
      {
        title: 'Outcome',
        cell: ({ outcome = 'in progress' }) => badge(wordsOf(outcome), outcomeTones[outcome] ?? 'neutral'),
      },
      {
        title: 'Version',
        cell: ({ kind, id, version }) =>
          version !== undefined &&
          (mayRead
            ? html`<a href="/dashboard${recordPath(workspace, kind, id)}?version=${version}" aria-label="Version ${version} of ${kind} ${id}">${version}</a>`
            : version),
      },
    ],
    about,
  )}
${count > MAX_ABOUT && html`<p class="muted">Showing the first ${MAX_ABOUT.toLocaleString('en-US')} of ${count.toLocaleString('en-US')}.</p>`}`;
}

async function download(ports: OneMessagePorts, visit: Visit): Promise<Reply> {
  const message = await find(ports, visit);
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
