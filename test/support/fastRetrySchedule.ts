/** Delays between the tries of a message: many tries, soon one after the other. */
export const fastRetrySchedule: readonly number[] = Array.from({ length: 60 }, () => 50);
