import { encode } from './characterSets.ts';
import { type Delimiters, usualDelimiters } from './delimiters.ts';
import { escapeText } from './escapes.ts';
import type { Hl7Message } from './Hl7Message.ts';
import { conditionNames, type Hl7Issue } from './hl7Issue.ts';

/** Maximum number of problems reported; a sender fixes the first ones first. */
const MOST_ISSUES = 50;

/** What identifies an acknowledgement among others. */
export interface Stamp {
  /** Its own MSH-10. */
  controlId: string;
  at: Date;
}

/**
 * Returns the acknowledgement (ACK) of a message (HL7 v2.5.1, 2.13.1), addressed to where it came from, in its
 * version, delimiters and character set: `AA` when everything it says is durable, `AE` when it is wrong, `AR` when it
 * is not for this service. Each segment ends with CR.
 */
export function acknowledge(
  message: Hl7Message,
  code: 'AA' | 'AE' | 'AR',
  issues: readonly Hl7Issue[],
  stamp: Stamp,
): Buffer {
  const { delimiters, characterSet } = message.encoding;
  const [first] = issues.filter(({ severity }) => severity === 'error');
  const text = code === 'AA' ? '' : escapeText(first?.text ?? '', delimiters);
  const segments = [
    headerOf(message, stamp),
    ['MSA', code, message.header.text(10), ...(text && [text])],
    ...errorSegments(issues.slice(0, MOST_ISSUES), message),
  ];
  const lines = segments.map((fields) => `${fields.join(delimiters.field)}\r`);
  return encode(lines.join(''), characterSet);
}

/** Returns the MSH of the response: receiver and sender are swapped. */
function headerOf({ header, encoding }: Hl7Message, { controlId, at }: Stamp): string[] {
  const { component } = encoding.delimiters;
  const [, event = '', structure = ''] = header.text(9).split(component);
  const kind = ['ACK', ...(event && [event]), ...(event && structure && ['ACK'])];
  const [application, facility, receivingApplication, receivingFacility] = [3, 4, 5, 6].map((field) =>
    header.text(field),
  );
  const fields = [
    ...['MSH', header.text(2) || encodingCharacters(encoding.delimiters)],
    ...[receivingApplication ?? '', receivingFacility ?? '', application ?? '', facility ?? ''],
    ...[
      timestamp(at),
      '',
      kind.join(component),
      controlId,
      header.text(11) || 'P',
      header.text(12) || '2.5.1',
    ],
  ];
  const characterSets = header.text(18);
  return characterSets === '' ? fields : [...fields, '', '', '', '', '', characterSets];
}

function encodingCharacters(delimiters: Delimiters): string {
  return delimiters.component + delimiters.repetition + delimiters.escape + delimiters.subcomponent;
}

/** In UTC, with an explicit offset. */
function timestamp(at: Date): string {
  return `${at.toISOString().slice(0, 19).replaceAll(/\D/g, '')}+0000`;
}

/**
 * Returns ERR segments as of v2.5, one for each issue; before that a single one that knows only errors (v2.4,
 * 2.15.4).
 */
function errorSegments(issues: readonly Hl7Issue[], { encoding, version }: Hl7Message): string[][] {
  const { delimiters } = encoding;
  const { component, subcomponent, repetition } = delimiters;
  const placeOf = ({ location = '' }: Hl7Issue) => location.replaceAll(usualDelimiters.component, component);
  const codeOf = ({ code }: Hl7Issue, separator: string) =>
    [code, conditionNames[code], 'HL70357'].join(separator);
  if (!/^2\.[0-4]/.test(version)) {
    return issues.map((issue) => [
      ...['ERR', '', placeOf(issue), codeOf(issue, component)],
      ...[issue.severity === 'error' ? 'E' : 'W', '', '', '', escapeText(issue.text, delimiters)],
    ]);
  }
  const errors = issues.filter(({ severity }) => severity === 'error');
  const places = errors.map((issue) => {
    const [segment = '', sequence = '', field = ''] = placeOf(issue).split(component);
    return [segment, sequence, field, codeOf(issue, subcomponent)].join(component);
  });
  return places.length === 0 ? [] : [['ERR', places.join(repetition)]];
}
