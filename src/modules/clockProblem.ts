import { type Clock, SteadyClock } from '../storage/clock.ts';
import type { EventLog } from '../storage/eventLog.ts';
import type { Finding } from './finding.ts';

/** Tolerance for clock differences between machines and for the time an answer takes. */
const TOLERATED_MS = 60_000;

/** Of this process: whether the machine's clock was set since the start. */
const steady = new SteadyClock();

/**
 * Returns a finding when this machine's clock was set by more than a minute since the process started, and when the log's last event
 * claims to be from the future: this machine's clock, or the one with which the log is, or was, written, is wrong; undefined
 * otherwise. Rejects with `unavailable`.
 */
export async function clockProblem(eventLog: EventLog, clock: Clock): Promise<Finding | undefined> {
  const step = Math.round(steady.stepMs() / 1000);
  if (step !== 0) return { code: 'clock_stepped', message: steppedText(step, eventLog) };
  const recordedAt = await eventLog.lastRecordedAt();
  const now = clock.now();
  if (recordedAt === undefined || Date.parse(recordedAt) - now <= TOLERATED_MS) return undefined;
  const seconds = Math.round((Date.parse(recordedAt) - now) / 1000);
  const otherwise = eventLog.linkWriter
    ? 'If it is right, that event was recorded under a wrong clock: its time cannot be repaired. The events after it have their own times; ' +
      'versions and their order remain correct, and no version counts as older than the one before it.'
    : "If it is right, correct the clocks of the event log's nodes.";
  return {
    code: 'clock_behind_log',
    message:
      `The last event was recorded at ${recordedAt}, ${seconds} seconds ahead of this machine's clock ` +
      `(${new Date(now).toISOString()}). If this clock is wrong, correct it, preferably with NTP. ${otherwise}`,
  };
}

function steppedText(seconds: number, eventLog: EventLog): string {
  const direction = seconds > 0 ? 'forward' : 'back';
  const what = eventLog.linkWriter ? 'Events are recorded with the time as it was before, going on. ' : '';
  return (
    `This machine's clock was set ${direction} by ${Math.abs(seconds)} seconds while the service was running. ${what}` +
    'If the clock is right now, restart the service; if not, correct it, preferably with NTP.'
  );
}
