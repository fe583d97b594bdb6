/** Codes of what may be wrong with a message (HL7 table 0357), with their names there. */
export const conditionNames = {
  '100': 'Segment sequence error',
  '101': 'Required field missing',
  '102': 'Data type error',
  '103': 'Table value not found',
  '104': 'Value too long',
  '200': 'Unsupported message type',
  '201': 'Unsupported event code',
  '202': 'Unsupported processing id',
  '203': 'Unsupported version id',
  '204': 'Unknown key identifier',
  '205': 'Duplicate key identifier',
  '207': 'Application internal error',
} as const;

export type ConditionCode = keyof typeof conditionNames;

/** What is wrong with a message, or was not used from it. */
export interface Hl7Issue {
  /** With an `error`, nothing of the message is accepted. */
  severity: 'error' | 'warning';
  code: ConditionCode;
  /**
   * In the form of ERR-2, with the usual delimiters: `PID^1^5` (segment, which one of that name, field),
   * `PID^1^5^1^2` (repetition, component).
   */
  location?: string;
  /** What to do about it; never a value of the message. */
  text: string;
}

/** A message of which nothing is accepted. */
export interface Hl7Refusal {
  /** `AE`: it is wrong, or cannot be accepted as it stands; `AR`: it is not for this receiver (HL7 v2.5.1, 2.9.2). */
  refused: 'AE' | 'AR';
  issues: Hl7Issue[];
}

/** Returns the refusal for a single reason. */
export function refusal(
  refused: 'AE' | 'AR',
  code: ConditionCode,
  location: string | undefined,
  text: string,
): Hl7Refusal {
  return { refused, issues: [{ severity: 'error', code, ...(location && { location }), text }] };
}
