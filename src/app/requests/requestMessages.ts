import type { Config } from '../../config.ts';
import type { ProcessState } from '../../health/readiness.ts';
import type { ArrivalTimes } from '../../http/server/createHttpServer.ts';
import type { WriterLink } from '../../ports/eventLog.ts';

import type { SharedMemory } from './SharedMemory.ts';

/** What a thread that answers requests is started with. */
export interface RequestThreadData {
  config: Config;
  /** Its number; that of the thread that started it is 0. */
  thread: number;
  /** Where all of them listen. */
  port: number;
  memory: SharedMemory;
  /** Whether the event log is written to by one thread, which the service's first thread leads to. */
  sharesWriter: boolean;
  times: ArrivalTimes | undefined;
}

/** What only the first thread knows. */
export interface Answers {
  /** How the whole process does. */
  processState: ProcessState;
  /** A way to the writer of the event log. */
  writerLink: WriterLink;
}

export type Question = keyof Answers;

/** From a thread to the first one. */
export type ThreadMessage =
  | { kind: 'listening' }
  /** It could not start, for this reason, and ends. */
  | { kind: 'failed'; problem: string }
  | { kind: 'log'; lines: string[] }
  | { kind: 'ask'; question: Question; number: number };

/** To a thread: to end, or what it asked for; nothing where a store is away, with the problem, if that is known. */
export type OwnerMessage =
  | 'stop'
  | { number: number; answer: Answers[Question] }
  | { number: number; problem: string | undefined };
