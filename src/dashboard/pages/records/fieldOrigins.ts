import { canonicalJson } from '../../../domain/events/canonicalJson.ts';
import type { FieldChange } from '../../../domain/records/diff.ts';
import type { Workspace } from '../../../modules/auth/keyState.ts';
import {
  type FieldLineage,
  type LineagePorts,
  type RecordLineage,
  readLineage,
} from '../../../modules/integrations/replay/readLineage.ts';
import type { RecordVersion } from '../../../modules/records/queries/recordHistory.ts';
import { ServiceError } from '../../../platform/errors.ts';
import { fieldLabel } from '../../components/fieldLabel.ts';
import { type Html, html } from '../../components/html.ts';
import { messagePath } from '../../components/messagePaths.ts';
import { originCell } from '../../components/originCell.ts';

/** For all messages that a page reads again. */
const MOST_BYTES = 1024 * 1024;

/**
 * Resolves with where the versions of a record that resulted from messages come from, field by field, by the version.
 * Rejects with `unavailable`.
 */
export async function fieldOrigins(
  ports: LineagePorts,
  workspace: Workspace,
  record: { kind: string; id: string },
  versions: readonly RecordVersion[],
): Promise<ReadonlyMap<number, Html>> {
  const cells = new Map<number, Html>();
  let room = MOST_BYTES;
  for (const { version, source, changes } of versions) {
    if (source === undefined) continue;
    const message = await ports.messages.load(workspace.id, source.message);
    if (message === undefined) {
      cells.set(version, gone);
      continue;
    }
    room -= message.size;
    const link = html`<a href="/dashboard${messagePath(workspace.id, message.id)}?fields=shown#fields">message ${message.id}</a>`;
    if (room < 0) {
      cells.set(version, link);
      continue;
    }
    const lineage = await readLineage(ports, workspace, message, source.configuration).catch(goneOf);
    if (lineage === undefined) {
      cells.set(version, gone);
      continue;
    }
    const own = lineage.filter(({ kind, id }) => kind === record.kind && id === record.id);
    const told = changes.map((change) => {
      const found = lineageOf(own, change);
      const cell = found
        ? originCell(message.format, found)
        : html`<span class="muted">Read again, the message does not have this value.</span>`;
      return html`<div>${changes.length > 1 && html`${fieldLabel(change.field)}: `}${cell}</div>`;
    });
    cells.set(version, html`${told}<small>${link}</small>`);
  }
  return cells;
}

const gone = html`<span class="muted">The message is no longer kept.</span>`;

/** It may be removed while it is being read. */
function goneOf(error: unknown): undefined {
  if (error instanceof ServiceError && error.code === 'not_found') return undefined;
  throw error;
}

/** Returns what determines the value of a change: of several, the last one. */
function lineageOf(records: readonly RecordLineage[], { field, to }: FieldChange): FieldLineage | undefined {
  return records
    .flatMap(({ fields }) => fields)
    .findLast((one) => one.field === field && canonicalJson([one.value ?? null]) === canonicalJson([to]));
}
