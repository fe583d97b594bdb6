import type { Logger } from 'pino';
import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../domain/events/newEvent.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { acknowledge } from '../../modules/integrations/hl7/acknowledge.ts';
import type { Hl7Issue } from '../../modules/integrations/hl7/hl7Issue.ts';
import { parseMessage } from '../../modules/integrations/hl7/parseMessage.ts';
import { type ReceivePorts, receiveMessage } from '../../modules/integrations/hl7/receiveMessage.ts';
import { splitMessages } from '../../modules/integrations/hl7/splitMessages.ts';
import { describeError, type ErrorCode, ServiceError } from '../../platform/errors.ts';
import { BatchTally } from '../routes/BatchTally.ts';
import type { BatchPorts } from '../routes/carryOut.ts';
import { recordBatch } from '../routes/recordBatch.ts';
import { tallyMessage } from '../routes/tallyMessage.ts';
import { mediaTypes } from '../schemas/hl7Responses.ts';
import { asServiceError, statusOf } from '../server/errorAnswer.ts';
import { logFailure } from '../server/logFailure.ts';
import type { Frame } from './FrameReader.ts';
import { NotTaken } from './MllpConnection.ts';
import type { Sender } from './Senders.ts';

export interface MllpPorts extends ReceivePorts, BatchPorts {
  logger: Logger;
}

/** How the audit trail and the log name what arrived. */
const came = { method: 'MLLP', route: 'message' } as const;

/** How much is looked at of a message that is refused unread. */
const HEADER_BYTES = 4096;

/** The refusal of a message, whatever it says. */
interface Refusal {
  code: 'AE' | 'AR';
  why: ErrorCode;
  issue: Pick<Hl7Issue, 'code' | 'text'>;
}

const tooLarge: Refusal = {
  code: 'AE',
  why: 'payload_too_large',
  issue: { code: '104', text: 'A message can have at most 1 MB.' },
};
const oddlyFramed: Refusal = {
  code: 'AE',
  why: 'malformed_body',
  issue: { code: '102', text: 'A message must not contain the framing characters 0B (VT) and 1C (FS).' },
};
const deactivated: Refusal = {
  code: 'AR',
  why: 'workspace_deactivated',
  issue: { code: '207', text: 'The workspace is deactivated, so messages are not accepted.' },
};

/**
 * Returns the messages of a frame, usually one: also those of a batch (BHS) in it, each by itself. Anything that is
 * not a message is returned as one that is refused.
 */
export function messagesIn({ bytes, isTooLarge }: Frame): Buffer[] {
  if (isTooLarge || isOddlyFramed(bytes)) return [bytes];
  try {
    return splitMessages(bytes);
  } catch (error) {
    if (error instanceof ServiceError) return [bytes];
    throw error;
  }
}

/** Where the previous frame was cut off, or one ends within it: no part of it can be trusted. */
function isOddlyFramed(bytes: Buffer): boolean {
  return bytes.includes(0x0b) || bytes.includes(0x1c);
}

/**
 * Resolves with the response to a sender's message; by then everything that it says is durable. What left no event is
 * in the audit trail. Rejects with `NotTaken`, and logs why, where the service cannot take it now: the message must
 * then not be acknowledged.
 */
export async function answerMessage(
  ports: MllpPorts,
  sender: Sender,
  clientIp: string,
  frame: Frame,
): Promise<Buffer> {
  const startedAt = performance.now();
  const { workspace, source } = sender;
  const caller: Caller = {
    workspace: workspace.id,
    principal: { type: 'source', id: source.id },
    requestId: uuidv7(),
    clientIp,
  };
  const { requestId } = caller;
  const log = (code: string) => {
    const ms = Math.round((performance.now() - startedAt) * 100) / 100;
    ports.logger.info({ code, ms, requestId, source: source.id, workspace: workspace.id }, 'message');
  };
  try {
    const refusal = refusalOf(workspace.state, frame);
    const answer = refusal
      ? await refuse(ports, caller, frame, refusal)
      : await take(ports, caller, sender, frame);
    log(answer.code);
    return answer.acknowledgement;
  } catch (thrown) {
    const error = asServiceError(thrown);
    logFailure(ports.logger, error, { requestId, route: came.route }, 'request');
    log(error.code);
    throw new NotTaken(error.code);
  }
}

interface Answer {
  code: 'AA' | 'AE' | 'AR';
  acknowledgement: Buffer;
}

async function take(
  ports: MllpPorts,
  caller: Caller,
  { workspace, source }: Sender,
  { bytes }: Frame,
): Promise<Answer> {
  const { lines: limiter, stopping } = ports.batches;
  const run = { limiter, stopping, authorize: () => undefined };
  const readAs = { ...source, maySendTests: workspace.sandbox === true };
  const received = await receiveMessage(ports, run, readAs, { caller, bytes, type: mediaTypes[0] });
  const tally = new BatchTally(1);
  tallyMessage(tally, received);
  await recordBatch(ports, { caller, options: {}, ...came }, tally);
  return received;
}

async function refuse(
  ports: MllpPorts,
  caller: Caller,
  { bytes }: Frame,
  { code, why, ...refusal }: Refusal,
): Promise<Answer> {
  await recordRefusal(ports, caller, why);
  const header = parseMessage(bytes.subarray(0, HEADER_BYTES));
  const stamp = { controlId: uuidv7(), at: new Date() };
  const issue = { severity: 'error', ...refusal.issue } as const;
  return { code, acknowledgement: acknowledge(header, code, [issue], stamp) };
}

function refusalOf(state: Sender['workspace']['state'], { bytes, isTooLarge }: Frame): Refusal | undefined {
  if (state === 'deactivated') return deactivated;
  if (isTooLarge) return tooLarge;
  return isOddlyFramed(bytes) ? oddlyFramed : undefined;
}

/** A refusal that the log does not accept is answered anyway: nothing was written. */
async function recordRefusal(ports: MllpPorts, caller: Caller, code: ErrorCode): Promise<void> {
  const access = {
    action: 'request.refused',
    outcome: 'refused',
    code,
    ...came,
    status: statusOf[code],
  } as const;
  try {
    await recordAccess(ports.eventLog, caller, access);
  } catch (error) {
    const { requestId, principal } = caller;
    const fields = { requestId, source: principal.id, error: describeError(error) };
    ports.logger.warn(fields, 'a refused message could not be recorded in the audit trail');
  }
}
