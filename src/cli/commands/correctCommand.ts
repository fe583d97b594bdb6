import { readFile } from 'node:fs/promises';
import type { Command } from 'commander';
import { v7 as uuidv7 } from 'uuid';
import { messageAccesses } from '../../modules/audit/messageAccesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { numberOf, readConfigurations } from '../../modules/integrations/configurations.ts';
import { correctMessage, requireCorrectable } from '../../modules/integrations/replay/correctMessage.ts';
import { presentSource } from '../../modules/integrations/replay/presentSource.ts';
import { notFound, ServiceError } from '../../platform/errors.ts';
import { terminal } from '../../server/terminal.ts';
import { withIngest } from '../../server/withIngest.ts';
import { ofFile } from '../lib/ofFile.ts';
import { example, FAILED, writeJson, writeLine } from '../lib/output.ts';
import { mayBeUnderWay } from './mayBeUnderWay.ts';
import { writeOutcome } from './writeOutcome.ts';

interface CorrectOptions {
  workspace: string;
  file: string;
  dryRun?: boolean;
  force?: boolean;
  json?: boolean;
}

/** `chartledger messages correct` */
export function addCorrectCommand(messages: Command): void {
  messages
    .command('correct')
    .description(
      'Process a corrected version of a message that was not fully accepted, in its place in the order. ' +
        'The original message is kept unchanged; the correction is kept as a message of its own. This is ' +
        'recorded in the audit trail.',
    )
    .argument('<id>', 'the id of the message, as listed')
    .requiredOption('--workspace <id>', 'the workspace')
    .requiredOption(
      '--file <file>',
      'the complete corrected message, for example the output of `messages show --raw` with the errors fixed',
    )
    .option('--dry-run', 'show what the outcome would be, without storing anything')
    .option(
      '--force',
      'also overwrite values newer than the message, and process messages that may still be in progress',
    )
    .option('--json', 'print the result as JSON')
    .addHelpText(
      'after',
      example(
        'chartledger messages correct 019cec3f-5f5b-7000-8000-000000000001 --file corrected.hl7 --workspace clinic',
      ),
    )
    .action(correct);
}

async function correct(id: string, options: CorrectOptions): Promise<void> {
  const { workspace: workspaceId, file, dryRun: isTrial = false, force = false, json } = options;
  const sent = await ofFile(file, () => readFile(file));
  const corrected = await withIngest(workspaceId, async ({ ports, caller, workspace }) => {
    const original = await ports.messages.load(workspaceId, id);
    if (original === undefined) throw notFound('Message');
    requireCorrectable(original);
    if (!force && mayBeUnderWay(original)) {
      throw new ServiceError(
        'conflict',
        'It arrived within the last ten minutes and may still be in progress.',
      );
    }
    const configurations = await readConfigurations(ports.eventLog, workspaceId);
    const source = presentSource(configurations.at(-1)?.sources ?? [], original, ports.directory.known);
    if (source === undefined) throw new ServiceError('conflict', 'Its source is no longer configured.');
    const own = { ...caller, requestId: uuidv7() };
    await recordAccess(ports.eventLog, own, ...messageAccesses(original, true));
    const configuration = numberOf(configurations, source.id);
    const isSandbox = workspace.sandbox === true;
    return correctMessage(ports, own, original, sent, { source, configuration, isSandbox, force, isTrial });
  });
  if (json) writeJson({ ...corrected, id: corrected.id ?? null, corrects: id });
  else {
    const name = corrected.id === undefined ? 'It would be' : `${corrected.id}:`;
    writeLine(`${name} ${corrected.state}`);
    writeOutcome(corrected);
  }
  if (corrected.state !== 'accepted') terminal().exitCode = FAILED;
}
