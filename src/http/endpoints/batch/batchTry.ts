import { v7 as uuidv7 } from 'uuid';
import type { BatchLine } from '../../../commands/batch/batchLine.ts';
import { derivedEventId } from '../../../idempotency/derivedEventId.ts';
import { KeptAnswer } from '../../../idempotency/KeptAnswer.ts';
import { type IdempotencyPorts, markReplayed, payloadOf } from '../../idempotency/once.ts';
import { callerOf, type Exchange } from '../../server/exchange.ts';

/** One of perhaps several tries of a batch: one with the same key answers for what an earlier one appended, and goes on. */
export interface BatchTry {
  /** The id of the event of a line. */
  eventId(line: BatchLine): string;
  /** Whether an earlier one may have appended events. */
  isRepeat: boolean;
  /** To be called when every line is answered. */
  over(): Promise<void>;
}

/** The try of a batch that has no key: nobody knows of earlier ones. */
const onlyTry: BatchTry = { eventId: () => uuidv7(), isRepeat: false, over: async () => undefined };

/** What is kept of a batch. */
interface KeptBatch {
  eventId: string;
}

/**
 * The try of a batch under its `Idempotency-Key`, if it has one; its answer says when there was one before. Rejects as
 * `Reservations.reserve` does.
 */
export async function beginTry(
  { reservations }: IdempotencyPorts,
  exchange: Exchange,
  key: string | undefined,
  body: unknown,
): Promise<BatchTry> {
  if (key === undefined) return onlyTry;
  const payload = payloadOf(exchange.req, body);
  const reserved = await reservations.reserve(callerOf(exchange), key, payload);
  const isKept = reserved instanceof KeptAnswer;
  const { eventId } = isKept ? (reserved.resultFor(payload) as KeptBatch) : reserved;
  const isRepeat = isKept || reserved.earlier !== undefined;
  if (isRepeat) markReplayed(exchange);
  return {
    eventId: ({ number }) => derivedEventId(eventId, number),
    isRepeat,
    over: async () => {
      if (!isKept) await reserved.complete({ eventId } satisfies KeptBatch);
    },
  };
}
