import { unescapeText } from '../../modules/integrations/hl7/escapes.ts';
import type { Hl7Message } from '../../modules/integrations/hl7/Hl7Message.ts';
import type { Encoding, Segment } from '../../modules/integrations/hl7/Segment.ts';
import { type Html, html } from '../components/html.ts';
import { table } from '../components/table.ts';
import { code } from '../components/text.ts';

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
export function hl7Segments({ segments, encoding }: Hl7Message): Html {
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
          { title: 'Value', cell: said },
        ],
        fields,
      )
}`;
}

function said({ repetitions }: Field): Html {
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
