import { buffer } from 'node:stream/consumers';
import { fieldNames } from '../../modules/integrations/hl7/fieldNames.ts';
import { decode, encode } from '../../modules/integrations/hl7/framing.ts';
import {
  type Encoding,
  type Hl7Message,
  parseMessage,
  type Segment,
  unescapeText,
} from '../../modules/integrations/hl7/parser.ts';
import type { Message } from '../../modules/integrations/messages/message.ts';
import type { MessageStore } from '../../modules/integrations/messages/store.ts';
import { type Html, html } from '../components/page.ts';
import { fileSize } from '../components/records.ts';
import { table } from '../components/tables.ts';
import { badge, code, empty } from '../components/text.ts';

/** After this many values the rest of a message is left out. */
const MOST_VALUES = 5_000;
/** Maximum number of repetitions of a field, components of one, and subcomponents. */
const MOST_PARTS = 50;
/** What `""` means. */
const CLEARED = 'empty: the field is cleared';
/** Maximum characters shown of a value. */
const MOST_CHARACTERS = 500;

export const severityTones = { error: 'bad', warning: 'neutral', information: 'neutral' } as const;

interface Component {
  /** Such as `PID-3.1`. */
  name: string;
  text: string;
}

type Problem = Message['problems'][number];

interface Field {
  /** Such as `PID-3`. */
  name: string;
  /** Its content, by its repetitions and their components. */
  repetitions: Component[][];
  /** What is wrong with it, or remarked on. */
  problems: readonly Problem[];
}

/**
 * Returns a message by its segments, and these by the fields that have a value or a problem, with escape sequences resolved.
 */
function hl7Segments({ segments, encoding }: Hl7Message, problems: readonly Problem[]): Html {
  const byPlace = Map.groupBy(problems, ({ at }) => at.split('^').slice(0, 3).join('^'));
  let room = MOST_VALUES;
  const shown: Html[] = [];
  for (const segment of segments) {
    if (room <= 0) break;
    room--;
    const fields: Field[] = [];
    for (let number = 1; number <= segment.length && room > 0; number++) {
      const own = byPlace.get(`${segment.name}^${segment.sequence}^${number}`) ?? [];
      const field = fieldOf(segment, number, encoding, own);
      if (field.repetitions.length + own.length > 0) fields.push(field);
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
          {
            title: 'Field',
            isHeader: true,
            cell: ({ name }) =>
              html`<span class="nowrap">${name}</span>${fieldNames.has(name) && html` <small class="muted">${fieldNames.get(name)}</small>`}`,
          },
          { title: 'Value', cell: valueCell },
        ],
        fields,
      )
}`;
}

function valueCell(field: Field): Html {
  const marks = field.problems.map(
    ({ severity, text }) => html`<div>${badge(severity, severityTones[severity])} ${text}</div>`,
  );
  return html`${repetitionsHtml(field)}${marks}`;
}

function repetitionsHtml({ repetitions }: Field): Html {
  return html`${repetitions.map((components) => {
    const [only] = components;
    if (components.length === 1 && only?.name.endsWith('.1')) return html`<div>${only.text}</div>`;
    return html`<div>${components.map(({ name, text }) => html`<span class="component">${code(name)} ${text}</span> `)}</div>`;
  })}`;
}

function fieldOf(segment: Segment, number: number, encoding: Encoding, problems: readonly Problem[]): Field {
  const name = `${segment.name}-${number}`;
  const isDelimiters = segment.name === 'MSH' && number <= 2;
  if (isDelimiters)
    return { name, repetitions: [[{ name: `${name}.1`, text: segment.text(number) }]], problems };
  const repetitions = segment.repetitions(number).slice(0, MOST_PARTS);
  const components = repetitions.map(({ text }) => componentsOf(name, text, encoding));
  return { name, repetitions: components.filter(({ length }) => length > 0), problems };
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
export const MOST_SHOWN_BYTES = 1024 * 1024;

/** What no text contains: control characters other than tabs and line ends. */
const NO_TEXT = /[^\P{Cc}\t\r\n]/u;

/**
 * Resolves with a message as it arrived, and as it is read. Rejects with `not_found` where it no longer exists, and
 * with `unavailable`.
 */
export async function messageContent(store: MessageStore, message: Message): Promise<Html> {
  if (message.size > MOST_SHOWN_BYTES) {
    return empty(`The message is ${fileSize(message.size)}, too large to show here. Download it to view it.`);
  }
  const bytes = await buffer(await store.bytes(message));
  const content = message.format === 'hl7v2' ? hl7Content(bytes, message.problems) : fhirContent(bytes);
  return content ?? empty('The message is not text. Download it to view it.');
}

function hl7Content(bytes: Buffer, problems: readonly Problem[]): Html | undefined {
  const message = parseMessage(bytes);
  const { refusal, encoding } = message;
  const text = textOf(bytes, refusal ? 'utf-8' : encoding.characterSet);
  if (text === undefined) return undefined;
  return html`${refusal ? html`<p class="banner">The message cannot be read. ${refusal.issues[0]?.text}</p>` : hl7Segments(message, problems)}
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

/** Longer texts do not fit into a form. */
const MOST_EDITED_BYTES = 30_000;

/** A message as it can be edited in a form. */
interface EditableText {
  text: string;
  /** Returns the bytes of an edited text; undefined for one with characters that its character set does not have. */
  toBytes(edited: string): Buffer | undefined;
}

/** Resolves with the text of a message for an editor; undefined for one that is too long, or not text. Rejects as `messageContent` does. */
export async function editableText(store: MessageStore, message: Message): Promise<EditableText | undefined> {
  if (message.size > MOST_EDITED_BYTES) return undefined;
  const bytes = await buffer(await store.bytes(message));
  if (message.format === 'fhir') {
    const text = textOf(bytes, 'utf-8');
    const toBytes = (edited: string) => Buffer.from(edited.replaceAll(/\r\n?/g, '\n'));
    return text === undefined ? undefined : { text: layOutJson(text) ?? text, toBytes };
  }
  const { refusal, encoding } = parseMessage(bytes);
  const characterSet = refusal ? 'utf-8' : encoding.characterSet;
  const text = textOf(bytes, characterSet);
  if (text === undefined) return undefined;
  return {
    text: text.replaceAll(/\r\n?/g, '\n'),
    toBytes(edited) {
      const sent = edited.replaceAll(/\r\n?|\n/g, '\r');
      const encoded = encode(sent, characterSet);
      return decode(encoded, characterSet) === sent ? encoded : undefined;
    },
  };
}

function block(text: string): Html {
  return html`<pre class="message-text" tabindex="0"><code>${text}</code></pre>`;
}
