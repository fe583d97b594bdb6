import type { Caller } from '../domain/events/newEvent.ts';
import type { Workspace } from '../modules/auth/apiKeys.ts';
import type { KeyDirectory } from '../modules/auth/keyDirectory.ts';
import { MessageStore } from '../modules/integrations/messages/store.ts';
import type { ReplayPorts } from '../modules/integrations/replay/resend.ts';
import { openWriteWarnings } from '../modules/readiness/warnings.ts';
import { RecordExistence, ReferenceWaits } from '../modules/records/commands/references.ts';
import { RecordReturns } from '../modules/records/commands/returns.ts';
import { loadConfig } from '../platform/config.ts';
import { openOwnStateStore } from './openStorage.ts';
import { withDocumentStore, withReadModels, withWorkspace } from './stores.ts';
import { terminal } from './terminal.ts';

/** What is needed to carry out messages in a workspace. */
export interface IngestTools {
  ports: ReplayPorts & { directory: KeyDirectory };
  /** The user who runs the command. */
  caller: Caller;
  workspace: Workspace;
}

/**
 * Runs `work` with everything needed to carry out messages in a workspace; rejects with `not_found` when there is none with that
 * id.
 */
export function withIngest<Result>(
  id: string,
  work: (tools: IngestTools) => Promise<Result>,
): Promise<Result> {
  return withWorkspace(id, ({ eventLog, caller, directory }) =>
    withReadModels((readModels) =>
      withDocumentStore(async (documentStore) => {
        const stateStore = await openOwnStateStore(loadConfig(terminal().env), eventLog);
        const existence = new RecordExistence(eventLog, readModels);
        const referenceWaits = new ReferenceWaits(existence);
        try {
          const ports = {
            ...{ eventLog, readModels, documentStore, existence, referenceWaits, directory },
            returns: new RecordReturns(eventLog, (workspace) => directory.returnsOf(workspace)),
            warnings: openWriteWarnings(eventLog),
            messages: new MessageStore({ stateStore, documentStore }),
          };
          const workspace = directory.known.workspaces.get(id) as Workspace;
          return await work({ ports, caller, workspace });
        } finally {
          referenceWaits.close();
          await stateStore.close();
        }
      }),
    ),
  );
}
