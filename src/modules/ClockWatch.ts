import type { Logger } from 'pino';
import { systemClock } from '../storage/clock.ts';
import type { EventLog } from '../storage/eventLog.ts';
import { clockProblem } from './clockProblem.ts';

/** How often to warn while the problem lasts. */
const TELL_EVERY_MS = 600_000;

/** Warns operators, at the start and while it lasts, that the log is ahead of the clock. */
export class ClockWatch {
  readonly #timer: NodeJS.Timeout;

  constructor(eventLog: EventLog, logger: Logger) {
    const look = async () => {
      // An unavailable log is reported elsewhere.
      const finding = await clockProblem(eventLog, systemClock).catch(() => undefined);
      if (finding) logger.warn({ code: finding.code }, finding.message);
    };
    void look();
    this.#timer = setInterval(look, TELL_EVERY_MS);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
