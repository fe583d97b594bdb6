import { type ErrorCode, type ServiceError, UnreadableError } from '../../../platform/errors.ts';
import { fieldSentence } from '../fields.ts';
import { type Operation, type OperationResult, recordOf } from '../operations.ts';
import { encode } from './framing.ts';
import {
  type ConditionCode,
  conditionNames,
  type Delimiters,
  escapeText,
  type Hl7Issue,
  type Hl7Message,
  type Segment,
  usualDelimiters,
} from './parser.ts';

/** Maximum number of problems reported; a sender fixes the first ones first. */
const MOST_ISSUES = 50;

/** What identifies an acknowledgement among others. */
interface Stamp {
  /** Its own MSH-10. */
  controlId: string;
  at: Date;
}

/**
 * Returns the acknowledgement of a message (ACK; HL7 v2.5.1, 2.13.1; MFK for master files), addressed to where it came from, in its
 * version, delimiters and character set: `AA` when everything it says is durable, `AE` when it is wrong, `AR` when it
 * is not for this service; `CA`, `CE` and `CR` say the same of storing it. Each segment ends with CR.
 */
export function acknowledge(
  message: Hl7Message,
  code: Acknowledged | Committed,
  issues: readonly Hl7Issue[],
  stamp: Stamp,
): Buffer {
  const { delimiters, characterSet } = message.encoding;
  const [first] = issues.filter(({ severity }) => severity === 'error');
  const text = code === 'AA' || code === 'CA' ? '' : escapeText(first?.text ?? '', delimiters);
  const segments = [
    headerOf(message, code, stamp),
    ['MSA', code, message.header.text(10), ...(text && [text])],
    ...errorSegments(issues.slice(0, MOST_ISSUES), message),
    ...(isApplied(code) ? entrySegments(message, code, stamp) : []),
  ];
  const lines = segments.map((fields) => `${fields.join(delimiters.field)}\r`);
  return encode(lines.join(''), characterSet);
}

/** The result of a message. */
interface Result {
  code: Acknowledged;
  issues: readonly Hl7Issue[];
  /** Whether it was stored, to be carried out. */
  isCommitted: boolean;
}

/** The codes of what was carried out, or was not (HL7 table 0008). */
type Acknowledged = 'AA' | 'AE' | 'AR';
/** The codes of what was stored, or was not. */
type Committed = 'CA' | 'CE' | 'CR';

function isApplied(code: Acknowledged | Committed): code is Acknowledged {
  return code.startsWith('A');
}

const refusedAs = { AA: 'CE', AE: 'CE', AR: 'CR' } as const;

/**
 * Returns the acknowledgements of a message, in order. With neither MSH-15 nor MSH-16 it is the one of its result; in
 * the enhanced mode (HL7 v2.5.1, 2.9.3) those that its sender wants: first that it was stored (`CA`), or why not, then
 * its result, unless it was not stored and that was said.
 */
export function acknowledgements(
  message: Hl7Message,
  { code, issues, isCommitted }: Result,
  stamp: () => Stamp,
): Buffer[] {
  const [accept, application] = [15, 16].map((field) => conditionIn(message.header.text(field)));
  const result = () => acknowledge(message, code, issues, stamp());
  if (!accept && !application) return [result()];
  if (isCommitted) {
    const committed = isWanted(accept, true) ? [acknowledge(message, 'CA', [], stamp())] : [];
    return isWanted(application, code === 'AA') ? [...committed, result()] : committed;
  }
  if (isWanted(accept, false)) return [acknowledge(message, refusedAs[code], issues, stamp())];
  return isWanted(application, false) ? [result()] : [];
}

/** When a sender wants an acknowledgement (HL7 table 0155): always, never, of a refusal, of success. */
const conditions = ['AL', 'NE', 'ER', 'SU'] as const;
type Condition = (typeof conditions)[number];

/** Returns undefined for anything else, as if the field were empty. */
function conditionIn(text: string): Condition | undefined {
  return conditions.find((one) => one === text.trim().toUpperCase());
}

function isWanted(condition: Condition | undefined, isPositive: boolean): boolean {
  return condition === 'AL' || condition === (isPositive ? 'SU' : 'ER');
}

/** Returns the MSH of the response: receiver and sender are swapped. */
function headerOf(message: Hl7Message, code: Acknowledged | Committed, { controlId, at }: Stamp): string[] {
  const { header, encoding } = message;
  const { component } = encoding.delimiters;
  const [, event = '', structure = ''] = header.text(9).split(component);
  const [type, ownStructure] =
    message.type === MASTER_FILE && isApplied(code) ? ['MFK', 'MFK_M01'] : ['ACK', 'ACK'];
  const kind = [type, ...(event && [event]), ...(event && structure && [ownStructure])];
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

/** The type of messages that are acknowledged entry by entry. */
const MASTER_FILE = 'MFN';

/**
 * Returns the segments that MFK adds to ACK (HL7 v2.5.1, 8.4.2): the MFI, and an MFA for each MFE where MFI-6 wants one. The entries of
 * a message are stored together, or none of them is.
 */
function entrySegments(message: Hl7Message, code: Acknowledged, { at }: Stamp): string[][] {
  const notice = message.type === MASTER_FILE ? message.first('MFI') : undefined;
  if (notice === undefined) return [];
  const fieldsOf = (segment: Segment) =>
    Array.from({ length: segment.length }, (_, index) => segment.text(index + 1));
  const echoed = ['MFI', ...fieldsOf(notice)];
  const isStored = code === 'AA';
  if (!isWanted(conditionIn(notice.text(6)) ?? 'AL', isStored)) return [echoed];
  const { component } = message.encoding.delimiters;
  const outcome = (isStored ? ['S', 'Successful'] : ['U', 'Unsuccessful']).concat('HL70181').join(component);
  const entries = message.all('MFE').map((entry) => {
    const [event, control, , key, keyType] = fieldsOf(entry);
    return ['MFA', event ?? '', control ?? '', timestamp(at), outcome, key ?? '', keyType ?? ''];
  });
  return [echoed, ...entries];
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

/** The HL7 table 0357 codes of the service's refusals. */
const codes: Partial<Record<ErrorCode, ConditionCode>> = {
  reference_not_found: '204',
  not_found: '204',
  previously_erased: '204',
  return_pending: '204',
};

const later = new Set<ErrorCode>(['unavailable', 'overloaded', 'rate_limited', 'internal']);

/**
 * Whether a refusal is not because of what was sent, which should be sent again. One because of a damaged event stays, and would
 * hold up all later messages of the sender.
 */
export function isLater(error: ServiceError): boolean {
  return error instanceof UnreadableError ? error.code === 'unreadable' : later.has(error.code);
}

/** Returns why an operation was refused, or remarks on its record, located where the message says it. */
export function issuesOf(operation: Operation, result: OperationResult): Hl7Issue[] {
  if ('error' in result) return refusalIssues(operation, result.error as ServiceError);
  if (result.outcome === 'left_out') return [];
  return result.warnings.map(({ field, message }) => ({
    ...{ severity: 'warning', code: faultOf(operation, field), location: locationOf(operation, field) },
    text: sentence(operation, field, message),
  }));
}

/** The error's own text may name ids; its details do not. */
function refusalIssues(operation: Operation, { code, message, details }: ServiceError): Hl7Issue[] {
  const reported = details ?? [{ field: '', message }];
  return reported.map((one) => ({
    ...{ severity: 'error', location: locationOf(operation, one.field) },
    code: code === 'validation_failed' ? faultOf(operation, one.field) : (codes[code] ?? '207'),
    text: sentence(operation, one.field, one.message),
  }));
}

/** Returns where the message says a field; where it does not, where it says the record. */
function locationOf({ at, origins }: Operation, field: string): string {
  return origins?.[field]?.at ?? at;
}

/** Returns whether a field is at fault for what it says, or for saying nothing. */
function faultOf(operation: Operation, field: string): ConditionCode {
  const [name = ''] = field.split('.');
  return operation.type === 'record' && !Object.hasOwn(operation.fields, name) ? '101' : '102';
}

function sentence(operation: Operation, field: string, message: string): string {
  const name = operation.type === 'document' ? 'document' : recordOf(operation).kind;
  return fieldSentence(field === '' ? '' : `${name}.${field}`, message);
}
