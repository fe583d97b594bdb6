import type { Caller } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import { recordAccess } from '../audit/recordAccess.ts';
import type { Workspace } from '../auth/apiKeys.ts';
import type { ErasurePorts } from './finish.ts';
import { eraseExpired, type RetentionResult, type RetentionTally } from './retention.ts';

/** Sorts after every ISO 8601 time. */
const AFTER_ALL = 'Z';

/**
 * Erases every record of a sandbox with its documents and their webhook deliveries; keys, webhooks, the audit trail and
 * tombstones stay. Records under legal hold, and what refers to them, are kept and counted. An interruption leaves nothing half
 * done, and another call continues with what is left. Rejects with `conflict` for a workspace that is not a sandbox, and with
 * `unavailable`.
 */
export async function resetSandbox(
  ports: ErasurePorts,
  caller: Caller,
  workspace: Workspace,
  onBatch: (tally: Readonly<RetentionTally>) => void,
): Promise<RetentionResult> {
  if (!workspace.sandbox) {
    throw new ServiceError(
      'conflict',
      `Workspace ${workspace.id} is not a sandbox. Erase its records one by one with \`chartledger records erase\`, or all of it with \`chartledger workspaces delete\`.`,
    );
  }
  await recordAccess(ports.eventLog, caller, { action: 'workspace.reset' });
  return eraseAll(ports, caller, 'Reset of the sandbox', onBatch);
}

/** Erases every record of the caller's workspace, as `eraseExpired` does those that have expired. */
export function eraseAll(
  ports: ErasurePorts,
  caller: Caller,
  reason: string,
  onBatch: (tally: Readonly<RetentionTally>) => void,
): Promise<RetentionResult> {
  return eraseExpired(
    ports,
    caller,
    { before: AFTER_ALL, reason },
    { limit: Number.POSITIVE_INFINITY, onBatch },
  );
}
