import { v7 as uuidv7 } from 'uuid';
import type { Caller } from '../../../domain/events/newEvent.ts';
import { validationError } from '../../../domain/records/schema/validation.ts';
import { notFound, ServiceError } from '../../../platform/errors.ts';
import { messageAccesses } from '../../audit/accesses.ts';
import { recordAccess } from '../../audit/recordAccess.ts';
import type { Workspace } from '../../auth/apiKeys.ts';
import type { KeyDirectory } from '../../auth/keyDirectory.ts';
import { isWaiting, type Message } from '../messages/message.ts';
import type { ProcessedMessage } from '../messages/store.ts';
import { numberOf, readConfigurations, type Source } from '../sources.ts';
import { presentSource } from './lineage.ts';
import {
  type CorrectedMessage,
  correctMessage,
  type ReplayPorts,
  requireCorrectable,
  resendMessage,
} from './resend.ts';

/** How long a message may be under way; after that it was interrupted. */
const UNDER_WAY_MS = 600_000;
const UNDER_WAY = 'It arrived within the last ten minutes and may still be in progress.';
const MAX_REASON = 1_000;
const NO_SOURCE = 'Its source is no longer configured.';

/** Whether the receiver of a message may currently be carrying it out. */
function mayBeUnderWay({ state, received_at }: Message): boolean {
  return state === 'received' && Date.now() - Date.parse(received_at) < UNDER_WAY_MS;
}

export interface WaitingPorts extends ReplayPorts {
  directory: Pick<KeyDirectory, 'known'>;
}

interface ForceOption {
  /** Also to replace what is newer than the message, and to process one that may still be in progress. */
  force?: boolean;
}

/** A message that was not processed again, and why. */
export interface SkippedMessage {
  state: Message['state'];
  skipped: string;
}

/**
 * Processes a message that was not fully accepted again, as a request of its own, by the present configuration of its source; says
 * why not, where it does not wait. It is in the audit trail. Rejects as `resendMessage` does.
 */
export async function resendWaiting(
  ports: WaitingPorts,
  caller: Caller,
  workspace: Workspace,
  listed: Message,
  { force = false }: ForceOption = {},
): Promise<ProcessedMessage | SkippedMessage> {
  // As it is now: its turn may come long after the list was read.
  const message = await ports.messages.load(workspace.id, listed.id);
  if (message === undefined) return { state: listed.state, skipped: 'It no longer exists.' };
  const { state, corrected_by } = message;
  const { source, configuration } = await presentConfiguration(ports, workspace.id, message);
  if (state === 'accepted') return { state, skipped: 'It was fully accepted.' };
  if (corrected_by !== undefined) return { state, skipped: `It was corrected by ${corrected_by}.` };
  if (!force && mayBeUnderWay(message)) return { state, skipped: UNDER_WAY };
  if (source === undefined) return { state, skipped: NO_SOURCE };
  const own = { ...caller, requestId: uuidv7() };
  await recordAccess(ports.eventLog, own, ...messageAccesses(message));
  const isSandbox = workspace.sandbox === true;
  return resendMessage(ports, own, message, { source, configuration, isSandbox, force });
}

/**
 * Processes a corrected form of a message that was not fully accepted, as a request of its own, by the present configuration of its
 * source; that the original was read is in the audit trail. Rejects as `correctMessage` does, and with `conflict` where the message
 * may be in progress, or its source is no longer configured.
 */
export async function correctWaiting(
  ports: WaitingPorts,
  caller: Caller,
  workspace: Workspace,
  id: string,
  sent: Buffer,
  { force = false, isTrial }: ForceOption & { isTrial: boolean },
): Promise<CorrectedMessage> {
  const original = await ports.messages.load(workspace.id, id);
  if (original === undefined) throw notFound('Message');
  requireCorrectable(original);
  if (!force && mayBeUnderWay(original)) throw new ServiceError('conflict', UNDER_WAY);
  const { source, configuration } = await presentConfiguration(ports, workspace.id, original);
  if (source === undefined) throw new ServiceError('conflict', NO_SOURCE);
  const own = { ...caller, requestId: uuidv7() };
  await recordAccess(ports.eventLog, own, ...messageAccesses(original, true));
  const isSandbox = workspace.sandbox === true;
  return correctMessage(ports, own, original, sent, { source, configuration, isSandbox, force, isTrial });
}

/**
 * Leaves a message that was not fully accepted as it is, for a reason, which is kept in the audit trail. Rejects with `not_found`,
 * with `conflict` where it does not wait, with `validation_failed` without a reason, and with `unavailable`.
 */
export async function putMessageAside(
  { eventLog, messages }: Pick<WaitingPorts, 'eventLog' | 'messages'>,
  caller: Caller,
  id: string,
  reason: string,
): Promise<void> {
  const said = reason.trim();
  if (said === '' || said.length > MAX_REASON)
    throw validationError([{ field: 'reason', message: `must have 1 to ${MAX_REASON} characters` }]);
  const message = await messages.load(caller.workspace, id);
  if (message === undefined) throw notFound('Message');
  if (!isWaiting(message)) throw notWaiting();
  await recordAccess(eventLog, caller, {
    action: 'message.put_aside',
    query: { message: id, reason: said },
  });
  const at = new Date().toISOString();
  if (!(await messages.putAside(message, { by: caller.principal, at, reason: said }))) throw notWaiting();
}

function notWaiting(): ServiceError {
  return new ServiceError('conflict', 'The message was already accepted, corrected or put aside.');
}

async function presentConfiguration(
  { eventLog, directory }: WaitingPorts,
  workspace: string,
  message: Message,
): Promise<{ source: Source | undefined; configuration: number | undefined }> {
  const configurations = await readConfigurations(eventLog, workspace);
  const source = presentSource(configurations.at(-1)?.sources ?? [], message, directory.known);
  return { source, configuration: source && numberOf(configurations, source.id) };
}
