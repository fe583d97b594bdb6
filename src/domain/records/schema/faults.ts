import type { FieldMessage } from '../../../platform/errors.ts';

/** What can be wrong with a field, as a code. */
export const faultCodes = [
  ...[
    'required',
    'reference_not_found',
    'not_a_choice',
    'wrong_type',
    'empty',
    'wrong_length',
    'out_of_range',
  ],
  ...['no_date', 'repeated', 'unknown', 'invalid'],
] as const;
export type FaultCode = (typeof faultCodes)[number];

/** What is wrong with a field of a request: never its value. */
export interface FieldFault {
  /** Dotted, as known to the API; `unknown_field` stands for any other. */
  field: string;
  code: FaultCode;
  /** Of a reference: the record that does not exist, by its kind and the id that was sent. */
  kind?: string;
  id?: string;
}

/** The beginnings of the messages of `validate`, and of the checks that it calls. */
const messages: readonly [FaultCode, RegExp][] = [
  ['required', /^is required/],
  ['not_a_choice', /^must be one of /],
  ['wrong_type', /^must be an? (?:string|number|boolean|object|array|record)$/],
  ['empty', /^must not be empty/],
  ['wrong_length', /^must be (?:at most|at least|exactly) \d+ (?:characters|digits)/],
  ['out_of_range', /^must be at (?:most|least) -?\d/],
  ['no_date', /^must be (?:an ISO 8601 date|a date)/],
  ['repeated', /^must be sent once/],
  ['unknown', /^is not (?:a known|known)/],
];

/** Returns what a message about a field says, as a code: that of the detail, where it has one. */
export function faultOf({ field, message, code: known, kind, id }: FieldMessage & Detail): FieldFault {
  const code = faultCodes.find((one) => one === known) ?? codeIn(message);
  if (code !== 'reference_not_found') return { field, code };
  return { field, code, ...(kind !== undefined && { kind }), ...(id !== undefined && { id }) };
}

/** What a detail may have besides its field and message. */
interface Detail {
  code?: string;
  kind?: string;
  id?: string;
}

function codeIn(message: string): FaultCode {
  return messages.find(([, pattern]) => pattern.test(message))?.[0] ?? 'invalid';
}
