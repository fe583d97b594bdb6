import { messageAccesses } from '../../modules/audit/messageAccesses.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { type RecordLineage, readLineage } from '../../modules/integrations/replay/readLineage.ts';
import { notFound } from '../../platform/errors.ts';
import { withIngest } from '../../server/withIngest.ts';
import { printable, writeLine } from '../lib/output.ts';

/** Shows where the fields of a message's records come from. The values are shown, as with `--raw`. */
export async function showFields(id: string, workspaceId: string): Promise<void> {
  const lineage = await withIngest(workspaceId, async ({ ports, caller, workspace }) => {
    const message = await ports.messages.load(workspaceId, id);
    if (message === undefined) throw notFound('Message');
    const found = await readLineage(ports, workspace, message);
    await recordAccess(ports.eventLog, caller, ...messageAccesses(message, true));
    return found;
  });
  if (lineage.length === 0) writeLine('Read again, it says nothing of any record.');
  for (const one of lineage) writeRecord(one);
}

function writeRecord({ kind, id, fields }: RecordLineage): void {
  writeLine(`${kind} ${printable(id)}`);
  for (const { field, value, at, rule, setting } of fields) {
    const said = value === undefined ? '' : ` = ${printable(JSON.stringify(value))}`;
    const by = [rule && `rule ${rule}`, setting && `setting ${setting}`].filter(Boolean).join(', ');
    writeLine(`  ${field}${said}  from ${at === null ? 'no place' : printable(at)}${by && ` (${by})`}`);
  }
}
