/** What becomes of a write that changes no field of its record: `skip`, no event is appended; `append`, one as of any other. */
export const unchangedChoices = ['skip', 'append'] as const;
export type UnchangedChoice = (typeof unchangedChoices)[number];
