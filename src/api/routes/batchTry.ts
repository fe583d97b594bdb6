import { v7 as uuidv7 } from 'uuid';
import { derivedEventId } from '../../modules/idempotency/derivedEventId.ts';
import { KeptAnswer } from '../../modules/idempotency/KeptAnswer.ts';
import type { BatchLine } from '../../modules/records/commands/batchLine.ts';
import type { Exchange } from '../server/exchange.ts';
import { type IdempotencyPorts, markReplayed, payloadOf, reserve } from '../server/once.ts';

/**
 * One of possibly several tries of a batch: a later try with the same key answers for what an earlier one appended,
 * and continues.
 */
export interface BatchTry {
  /** Returns the id of a line's event. */
  eventId(line: BatchLine): string;
  /** Whether an earlier try may have appended events. */
  isRepeat: boolean;
  /** To be called when every line is answered. */
  over(): Promise<void>;
}

/** The try of a batch without a key: earlier ones are unknown. */
const onlyTry: BatchTry = { eventId: () => uuidv7(), isRepeat: false, over: async () => undefined };

/** What is kept of a batch. */
interface KeptBatch {
  eventId: string;
}

/**
 * Begins the try of a batch under its `Idempotency-Key`, if it has one; the response says when there was an earlier
 * one. Rejects as `Reservations.reserve` does.
 */
export async function beginTry(
  ports: IdempotencyPorts,
  exchange: Exchange,
  key: string | undefined,
  body: unknown,
): Promise<BatchTry> {
  if (key === undefined) return onlyTry;
  const payload = payloadOf(exchange.req, body);
  const reserved = await reserve(ports, exchange, key, payload);
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
