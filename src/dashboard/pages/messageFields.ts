import type { Workspace } from '../../modules/auth/keyState.ts';
import type { Message } from '../../modules/integrations/messages/message.ts';
import {
  type LineagePorts,
  type RecordLineage,
  readLineage,
} from '../../modules/integrations/replay/readLineage.ts';
import { fileSize } from '../components/documents.ts';
import { fieldLabel } from '../components/fieldLabel.ts';
import { type Html, html } from '../components/html.ts';
import { originCell } from '../components/originCell.ts';
import { fieldValue } from '../components/recordFields.ts';
import { table } from '../components/table.ts';
import { code, empty } from '../components/text.ts';
import { titleOf } from '../components/words.ts';
import { MOST_SHOWN_BYTES } from './messageContent.ts';

/** Maximum number of records of a message whose fields are shown. */
const MOST_RECORDS = 100;

/**
 * Resolves with where the fields of a message's records come from. Rejects with `not_found` where it no longer
 * exists, and with `unavailable`.
 */
export async function messageFields(
  ports: LineagePorts,
  workspace: Workspace,
  message: Message,
): Promise<Html> {
  if (message.size > MOST_SHOWN_BYTES) {
    return html`${empty(`The message is ${fileSize(message.size)}, too large to read again here.`)}
<p>${code(`chartledger messages show ${message.id} --workspace ${workspace.id} --fields`)} shows its fields.</p>`;
  }
  const lineage = await readLineage(ports, workspace, message);
  if (lineage.length === 0) return empty('Read again, it contains nothing about any record.');
  return html`${lineage.slice(0, MOST_RECORDS).map((one) => fieldsOf(message, one))}
${lineage.length > MOST_RECORDS && html`<p class="muted">Showing the first ${MOST_RECORDS} of ${lineage.length.toLocaleString('en-US')}.</p>`}`;
}

function fieldsOf({ format }: Message, { kind, id, fields }: RecordLineage): Html {
  const title = `${titleOf(kind)} ${id}`;
  return html`<h3>${title}</h3>
${table(
  `Fields of ${title}`,
  [
    { title: 'Field', isHeader: true, cell: ({ field }) => fieldLabel(field) },
    {
      title: 'Value',
      cell: ({ value }) =>
        value === null
          ? html`<span class="muted">empty: the field is cleared</span>`
          : value !== undefined && fieldValue(value),
    },
    { title: 'From', cell: (one) => originCell(format, one) },
  ],
  fields,
)}`;
}
