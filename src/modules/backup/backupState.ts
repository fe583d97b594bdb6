import type { BackupTarget } from '../../storage/backupTarget.ts';
import type { StateRow, StateStore, StateTable } from '../../storage/stateStore.ts';
import { messagesTable } from '../integrations/messages/message.ts';
import { writeLineFiles } from './lineFiles.ts';
import type { Manifest } from './manifest.ts';
import type { WantedObject } from './WantedObject.ts';

const AT_ONCE = 500;

/** What a backup contains of the state store. */
export interface StatePart extends Pick<Manifest, 'state'> {
  /** The messages whose bytes belong to it. */
  messages: WantedObject[];
}

/** Writes all rows of the tables. Rejects with `unavailable`. */
export async function backupState<Body extends object>(
  stateStore: StateStore,
  target: BackupTarget,
  tables: readonly StateTable<Body>[],
): Promise<StatePart> {
  const part: StatePart = { state: [], messages: [] };
  for (const table of tables) {
    await writeLineFiles(
      target,
      () => `state/${table.name}`,
      rowsOf(stateStore, table),
      (file, rows) => {
        part.state.push({ ...file, table: table.name, rows: rows.length });
        if (table.name === messagesTable.name) part.messages.push(...rows.map(messageOf));
      },
    );
  }
  return part;
}

async function* rowsOf<Body extends object>(stateStore: StateStore, table: StateTable<Body>) {
  for (let after: string | undefined; ; ) {
    const rows = await stateStore.scan(table, { after, limit: AT_ONCE });
    yield* rows;
    if (rows.length < AT_ONCE) return;
    after = rows.at(-1)?.id;
  }
}

function messageOf({ id, body }: StateRow<object>): WantedObject {
  const { size, sha256 } = messagesTable.body.parse(body);
  return { id, size, sha256 };
}
