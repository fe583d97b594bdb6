import { dataAs, type RecordedEvent, type ReturnChoice } from '../../../domain/events/event.ts';
import { type Caller, newActorEvent } from '../../../domain/events/newEvent.ts';
import { returnStream } from '../../../domain/events/streams.ts';
import { upcast } from '../../../domain/events/upcasting.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { appendBehind, type EventLog } from '../../../storage/eventLog.ts';
import { foldStream } from '../queries/records.ts';

/** An erased record, and the version of the tombstone that ended its erasure: a later erasure needs a decision of its own. */
export interface ErasedRecord {
  kind: string;
  record_id: string;
  version: number;
}

/** Data of `RecordReturnRefused`: the first write after an erasure that was refused. */
export type RecordReturnRefused = ErasedRecord;

/** Data of `RecordReturnDecided`. */
export interface RecordReturnDecided extends ErasedRecord {
  decision: ReturnDecision;
  reason: string;
}

/** Whether a record may return, as somebody decided. */
export const returnDecisions = ['allow', 'refuse'] as const satisfies ReturnChoice[];
export type ReturnDecision = (typeof returnDecisions)[number];

/** What is known of the return of a record after its last erasure that anything is known of. */
export interface ReturnState {
  /** How many events were folded. */
  version: number;
  erasure: number;
  isRefused: boolean;
  decision: ReturnDecision | undefined;
}

/** Folds the next event of a stream of returns. Throws an `UnreadableError` for an unknown schema version. */
export function evolveReturn(state: ReturnState | undefined, event: RecordedEvent): ReturnState {
  const { version: erasure, decision } = dataAs<ErasedRecord & Partial<RecordReturnDecided>>(
    upcast(event).data,
  );
  const before = state?.erasure === erasure ? state : undefined;
  return {
    version: event.revision + 1,
    erasure,
    isRefused: before?.isRefused === true || decision === undefined,
    decision: decision ?? before?.decision,
  };
}

/** Returns the error for a write of an erased record that does not return; `title`: `Patient`. */
export function previouslyErased(title: string): ServiceError {
  return new ServiceError(
    'previously_erased',
    `${title} was erased, and the workspace does not let it return. Remove it in the sending system.`,
  );
}

/** Returns the error for a write of an erased record about which somebody has to decide. */
export function returnPending(title: string): ServiceError {
  return new ServiceError(
    'return_pending',
    `${title} was erased. Somebody has to decide whether it returns; send it again after that.`,
  );
}

/** Whether a refusal is because its record was erased: then nothing of what was sent may be kept. */
export function isReturnRefused(error: unknown): boolean {
  return error instanceof ServiceError && ['previously_erased', 'return_pending'].includes(error.code);
}

/** Returns the current choice of a workspace. */
export type ReturnChoiceOf = (workspace: string) => ReturnChoice;

/**
 * Decides whether erased records return when they are sent again: by what was decided about the record since its erasure, otherwise by the
 * choice of the workspace.
 */
export class RecordReturns {
  readonly #eventLog: EventLog;
  readonly #choiceOf: ReturnChoiceOf;

  constructor(eventLog: EventLog, choiceOf: ReturnChoiceOf) {
    this.#eventLog = eventLog;
    this.#choiceOf = choiceOf;
  }

  /** Whether every record of a workspace returns, so that no write needs to find out whether its record was erased. */
  areAllowed(workspace: string): boolean {
    return this.#choiceOf(workspace) === 'allow';
  }

  /**
   * Rejects with `previously_erased` or `return_pending` unless an erased record may be written; `title`: of its kind. Unless it is a trial, notes the first
   * refusal after each erasure, with its sender. Rejects with `unreadable` and `unavailable`.
   */
  async require(
    caller: Caller,
    { kind, title }: { kind: string; title: string },
    { id, version, isTrial }: { id: string; version: number; isTrial: boolean },
  ): Promise<void> {
    const { workspace } = caller;
    const choice = this.#choiceOf(workspace);
    if (choice === 'allow') return;
    const stream = returnStream(workspace, kind, id);
    const state = await foldStream(this.#eventLog, stream, evolveReturn);
    const known = state?.erasure === version ? state : undefined;
    const decision = known?.decision ?? choice;
    if (decision === 'allow') return;
    if (!isTrial && !known?.isRefused) {
      const data: RecordReturnRefused = { kind, record_id: id, version };
      const event = newActorEvent(caller, workspace, 'RecordReturnRefused', { ...data });
      // Another refusal of the same record may have been noted just now; that suffices.
      await appendBehind(this.#eventLog, stream, event, (state?.version ?? 0) - 1);
    }
    throw decision === 'refuse' ? previouslyErased(title) : returnPending(title);
  }
}

/** Resolves with what was decided about the return of an erased record since its erasure, and how many events say so. */
export async function readReturn(
  eventLog: EventLog,
  workspace: string,
  { kind, record_id: id, version }: ErasedRecord,
): Promise<{ version: number; decision: ReturnDecision | undefined }> {
  const state = await foldStream(eventLog, returnStream(workspace, kind, id), evolveReturn);
  return {
    version: state?.version ?? 0,
    decision: state?.erasure === version ? state.decision : undefined,
  };
}
