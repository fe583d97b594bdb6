import type { Clock } from '../ports/clock.ts';
import type { EventLog } from '../ports/eventLog.ts';
import type { Finding } from './finding.ts';

/** Tolerance for clock differences between machines and for the time an answer takes. */
const TOLERATED_MS = 60_000;

/**
 * Returns a finding when the log's last event claims to be from the future: this machine's clock, or the one with which the log
 * is, or was, written, is wrong; undefined otherwise. Rejects with `unavailable`.
 */
export async function clockProblem(eventLog: EventLog, clock: Clock): Promise<Finding | undefined> {
  const recordedAt = await eventLog.lastRecordedAt();
  const now = clock.now();
  if (recordedAt === undefined || Date.parse(recordedAt) - now <= TOLERATED_MS) return undefined;
  const seconds = Math.round((Date.parse(recordedAt) - now) / 1000);
  // A writer of its own lets no event have an earlier time than the one before it.
  const otherwise = eventLog.linkWriter
    ? 'If it is right, an event was once recorded under a wrong clock: until its time has passed, every event is recorded with that time. ' +
      'Versions and their order remain correct, and nothing can or needs to be repaired; times and as_of are wrong until then.'
    : "If it is right, correct the clocks of the event log's nodes; times and as_of are wrong until those clocks have passed that time.";
  return {
    code: 'clock_behind_log',
    message:
      `The last event was recorded at ${recordedAt}, ${seconds} seconds ahead of this machine's clock ` +
      `(${new Date(now).toISOString()}). If this clock is wrong, correct it, preferably with NTP. ${otherwise}`,
  };
}
