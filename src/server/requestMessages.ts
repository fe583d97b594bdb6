import type { HttpTimes } from '../api/server/createHttpServer.ts';
import type { ProcessState } from '../modules/readiness.ts';
import type { Config } from '../platform/config.ts';
import type { WriterLink } from '../storage/eventLog.ts';

import type { SharedMemory } from './SharedMemory.ts';

/** The data with which a request thread is started. */
export interface RequestThreadData {
  config: Config;
  /** Its number; the thread that started it has 0. */
  thread: number;
  /** Where all of them listen. */
  port: number;
  memory: SharedMemory;
  /** Whether the event log has one writer thread, to which the service's first thread provides a link. */
  sharesWriter: boolean;
  times: HttpTimes | undefined;
}

/** What only the first thread knows. */
export interface Answers {
  /** The state of the whole process. */
  processState: ProcessState;
  /** A link to the writer of the event log. */
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

/** To a thread: to end, or the answer to its question; no answer when a store is unavailable, with the problem, if known. */
export type OwnerMessage =
  | 'stop'
  | { number: number; answer: Answers[Question] }
  | { number: number; problem: string | undefined };
