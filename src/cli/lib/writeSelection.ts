import { type Command, Option } from 'commander';
import { subjectKinds } from '../../domain/records/catalog.ts';
import type { WriteSelection } from '../../modules/records/queries/selectedWrites.ts';
import { parseInstant } from './options.ts';

export interface WriteSelectionOptions {
  workspace: string;
  source?: string;
  request?: string;
  since?: string;
  until?: string;
  kind?: string;
}

/** Adds the options that select writes of a workspace, besides who wrote them. */
export function addWriteSelection(command: Command): Command {
  return command
    .option('--source <id>', 'only writes from messages of this source')
    .option('--request <id>', 'only writes of this request: a batch, or an earlier undo')
    .option('--since <time>', 'only writes recorded at this time or later (ISO 8601)', parseInstant)
    .option('--until <time>', 'only writes recorded before this time (ISO 8601)', parseInstant)
    .addOption(new Option('--kind <kind>', 'only records of one kind, or documents').choices(subjectKinds));
}

/**
 * Returns what the options select; `options` names those by which writes can be selected. Ends the command with a usage error when
 * none of them is given: that would be all writes.
 */
export function writeSelectionOf(
  command: Command,
  { source, request, since, until, kind }: WriteSelectionOptions,
  principal: string | undefined,
  options: string,
): WriteSelection {
  if ([principal, source, request, since].every((one) => one === undefined))
    command.error(`error: select the writes with ${options}, --source, --request or --since`);
  return {
    ...(principal !== undefined && { principal }),
    ...(source !== undefined && { source }),
    ...(request !== undefined && { request }),
    ...(since !== undefined && { since }),
    ...(until !== undefined && { until }),
    ...(kind !== undefined && { kinds: [kind] }),
  };
}
