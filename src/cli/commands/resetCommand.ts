import type { Command } from 'commander';
import type { RetentionTally } from '../../modules/erasure/eraseExpired.ts';
import { resetSandbox } from '../../modules/erasure/resetSandbox.ts';
import { ServiceError } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';
import { withErasure } from '../../server/withErasure.ts';
import { count, example, fail, writeLine } from '../lib/output.ts';
import {
  addScavengeOptions,
  checkScavengeOptions,
  finishBytes,
  type ScavengeOptions,
} from './erasedBytes.ts';

interface ResetOptions extends ScavengeOptions {
  confirm: string;
}

/** `chartledger workspaces reset` */
export function addResetCommand(workspaces: Command): void {
  const command = workspaces
    .command('reset')
    .description(
      'Empty a sandbox: permanently erase all of its records and documents. Its keys and webhooks remain, ' +
        'as do the audit trail and a tombstone for each record. The service must be running. If ' +
        'interrupted, run the command again to resume.',
    )
    .argument('<id>', 'the sandbox')
    .requiredOption('--confirm <id>', 'the id of the sandbox again');
  addScavengeOptions(command)
    .addHelpText('after', example('chartledger workspaces reset sandbox --confirm sandbox'))
    .action(reset);
}

async function reset(id: string, { confirm, ...options }: ResetOptions): Promise<void> {
  checkScavengeOptions(options);
  if (confirm !== id) {
    throw new ServiceError('validation_failed', 'This id does not match the workspace. Nothing was erased.');
  }
  await withErasure(id, async (ports, caller, workspace) => {
    const onBatch = (tally: RetentionTally) => terminal().stderr.write(`${erasedLine(tally)}\n`);
    const { position, ...tally } = await resetSandbox(ports, caller, workspace, onBatch);
    writeLine(erasedLine(tally));
    if (position !== undefined) await finishBytes(ports, position, options);
    const { held, referred_to, changed, unreadable } = tally;
    const kept = held + referred_to + changed + unreadable;
    if (kept > 0) {
      fail(
        `Kept: ${count(kept)}, of which under legal hold: ${count(held)}; referred to by those: ${count(referred_to)}; not to be read ` +
          `by this version: ${count(unreadable)}. Run the command again when that has changed.`,
      );
    }
  });
}

function erasedLine({ erased, encounters }: RetentionTally): string {
  return `Erased: ${count(erased)}. Encounters that went with patients: ${count(encounters)}.`;
}
