import type { LogMismatch } from '../sameLog/logMismatch.ts';

/** What the projector's thread says to the service, for its log. */
export type ProjectorMessage =
  | {
      kind: 'parked';
      model: string;
      /** How many, all of one cause; the next two are the first one's. */
      events: number;
      position: number;
      eventId: string;
      error: Record<string, unknown>;
    }
  | { kind: 'mismatch'; model: string; mismatch: LogMismatch }
  | { kind: 'retrying'; task: string; error: Record<string, unknown> };
