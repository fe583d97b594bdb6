import { vi } from 'vitest';
import { eventually } from './eventually.ts';
import type { TestService } from './service.ts';

const YEARS = 6;

/** A moment behind all that is in the log, and before all that comes: records are beyond the time when they were last of use before it. */
export async function momentBetween(service: Pick<TestService, 'eventLog'>): Promise<Date> {
  const last = Date.parse((await service.eventLog.lastRecordedAt()) ?? '');
  const moment = new Date(last + 1);
  await eventually(() => {
    if (Date.now() <= moment.getTime()) throw new Error('it is not over yet');
  });
  return moment;
}

/** The time, in milliseconds since 1970, at which that moment is six years ago. */
export function sixYearsAfter(moment: Date): number {
  const then = new Date(moment);
  return then.setUTCFullYear(then.getUTCFullYear() + YEARS);
}

/** What `work` gives while the clock of this thread stands still at a time, in milliseconds since 1970. */
export async function withClockAt<Result>(time: number, work: () => Promise<Result>): Promise<Result> {
  const clock = vi.spyOn(Date, 'now').mockReturnValue(time);
  try {
    return await work();
  } finally {
    clock.mockRestore();
  }
}
