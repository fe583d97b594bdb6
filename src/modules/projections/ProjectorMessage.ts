import type { LogMismatch } from './logMismatch.ts';

/** What the projector's thread reports to the service, for its log. */
export type ProjectorMessage =
  | {
      kind: 'parked';
      model: string;
      /** How many, all with the same cause; the next three describe the first one. */
      events: number;
      /** The beginning of its stream's name, without the caller's id. */
      partition: string;
      position: number;
      eventId: string;
      error: Record<string, unknown>;
    }
  | { kind: 'mismatch'; model: string; mismatch: LogMismatch }
  | { kind: 'retrying'; task: string; error: Record<string, unknown> };
