import { ServiceError } from '../../platform/errors.ts';
import type { StateStore } from '../../storage/stateStore.ts';
import { findMessage } from './attempts.ts';
import { type StartPorts, startPosition } from './startPosition.ts';
import type { WebhookReplayRequested } from './webhook.ts';
import type { Replay } from './webhookSettings.ts';

/**
 * Resolves with what a replay's event says besides its webhook. Rejects with `not_found` when no such message was
 * sent, and as `startPosition` does.
 */
export async function replayRequest(
  ports: StartPorts & { stateStore: StateStore },
  workspace: string,
  id: string,
  replay: Replay,
): Promise<Omit<WebhookReplayRequested, 'webhook_id'>> {
  if ('failed' in replay) return { failed: true };
  if ('start' in replay) return { after: await startPosition(ports, workspace, replay.start, replay.field) };
  const { messageId } = replay;
  if (await findMessage(ports.stateStore, id, messageId)) return { message_id: messageId };
  throw new ServiceError('not_found', 'No such message was sent to the webhook in the last 30 days.');
}
