import type { Position } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import type { ExportJob } from './manifest.ts';

import type { VerificationJob } from './Verifications.ts';
import type { VerifiedHistory } from './verifyAgainstHeads.ts';

/** The task for which an evidence thread is started. */
export type EvidenceTask =
  | ({ kind: 'verify' } & VerificationJob)
  | { kind: 'export'; job: ExportJob; caller: Caller; until: Position; isSigned: boolean };

/** A message from the thread; after `bytes` it waits for the message `more`. */
export type EvidenceMessage =
  | { kind: 'reached'; position: Position; until: Position; events: number }
  | { kind: 'verified'; history: VerifiedHistory }
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'exported' };
