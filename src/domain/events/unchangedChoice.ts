/**
 * What happens to a write that changes no field of its record: `skip`: no event is appended; `append`: an event is appended as
 * for any other write.
 */
export const unchangedChoices = ['skip', 'append'] as const;
export type UnchangedChoice = (typeof unchangedChoices)[number];
