import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../../domain/events/newEvent.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { eachOnce } from '../aboutRecords.ts';
import { splitMessages } from '../hl7/splitMessages.ts';
import type { ProcessedMessage } from '../messages/MessageStore.ts';
import type { Message } from '../messages/message.ts';
import { orderTimeOf } from '../messages/orderTimeOf.ts';
import { DEFAULT_RETENTION_DAYS } from '../source.ts';
import { readKeptFhir } from './readKept.ts';
import { carryOutKept, type ReplayPorts, type Resending } from './resendMessage.ts';

/** Maximum size of a correction: more than a person writes. */
export const MAX_CORRECTION_BYTES = 16 * 1024 * 1024;

/** The result of a correction. */
export interface CorrectedMessage extends ProcessedMessage {
  /** Its own id; undefined for a trial, as nothing was kept. */
  id: string | undefined;
}

/**
 * Keeps a corrected form of a message that was not accepted completely as a message of its own, and carries it out in
 * place of the original: what is newer than the original stays as it is. The original stays as it arrived, and no
 * longer waits. Rejects with `conflict` for a message that cannot be corrected, with `malformed_body` and
 * `payload_too_large` for an invalid form of it, with `not_found` where it no longer exists, and with `unavailable`:
 * the correction, if it is kept by then, waits to be sent again. `isTrial`: nothing is kept or written.
 */
export async function correctMessage(
  ports: ReplayPorts,
  caller: Caller,
  original: Message,
  sent: Buffer,
  { isTrial, ...how }: Resending & { isTrial: boolean },
): Promise<CorrectedMessage> {
  const bytes = formOf(original, sent);
  const id = uuidv7();
  const { workspace, source, format, media_type, request } = original;
  const ordered_at = orderTimeOf(original);
  const told = { source, format, media_type, ...(request && { request }), corrects: original.id, ordered_at };
  const message: Message = { ...original, ...told, id };
  const keep: Parameters<typeof carryOutKept>[2]['keep'] = async (about) => {
    if (isTrial) return;
    const retentionDays = how.source.retention_days ?? DEFAULT_RETENTION_DAYS;
    const kept = await ports.messages.receive(caller, { ...told, id, about, bytes: [bytes], retentionDays });
    // Erasing what it concerns then also finds the original.
    await ports.messages.relate({ workspace, id: original.id }, eachOnce(about));
    if (await ports.messages.correctedBy(original, id)) return;
    await ports.messages.withdraw(kept);
    throw new ServiceError(
      'conflict',
      'Someone else has corrected or processed the message in the meantime.',
    );
  };
  const became = await carryOutKept(ports, caller, { message, bytes, keep }, { ...how, isTrial });
  if (!isTrial) await ports.messages.processed(message, became);
  return { ...became, id: isTrial ? undefined : id };
}

/** Throws `conflict` for a message that cannot be corrected. */
export function requireCorrectable({ state, corrected_by }: Message): void {
  if (state === 'accepted') {
    const remedy =
      'To change the result, change the configuration of its source and apply it (mappings), or change the records.';
    throw new ServiceError('conflict', `The message was fully accepted. ${remedy}`);
  }
  if (corrected_by !== undefined) {
    throw new ServiceError(
      'conflict',
      `The message was already corrected by ${corrected_by}. Correct that one instead.`,
    );
  }
}

/** Returns the bytes of a correction, which must have the format of the message. */
function formOf(original: Message, sent: Buffer): Buffer {
  if (sent.length > MAX_CORRECTION_BYTES) {
    throw new ServiceError('payload_too_large', 'A correction can have at most 16 MB.');
  }
  const bytes = original.format === 'hl7v2' ? oneMessage(sent) : sent;
  if (original.format === 'fhir') {
    const { entries, unread } = readKeptFhir(original, sent);
    if (unread > 0 || entries.length === 0 || entries.some(({ resource }) => resource === undefined)) {
      throw new ServiceError('malformed_body', 'The correction must be JSON, like the original message.');
    }
  }
  if (createHash('sha256').update(bytes).digest('hex') === original.sha256) {
    throw new ServiceError(
      'conflict',
      'The correction is identical to the original message. If nothing is wrong with it, resend it.',
    );
  }
  return bytes;
}

function oneMessage(sent: Buffer): Buffer {
  const [only, ...others] = splitMessages(sent);
  if (only === undefined || others.length > 0) {
    throw new ServiceError('malformed_body', 'The correction must be exactly one message.');
  }
  return only;
}
