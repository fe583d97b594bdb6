import type { Caller } from '../domain/events/newEvent.ts';
import type { KeyDirectory } from '../modules/auth/KeyDirectory.ts';
import type { Workspace } from '../modules/auth/keyState.ts';
import { MessageStore } from '../modules/integrations/messages/MessageStore.ts';
import type { ReplayPorts } from '../modules/integrations/replay/resendMessage.ts';
import { openWriteWarnings } from '../modules/readiness/writeWarnings.ts';
import { RecordExistence } from '../modules/records/commands/RecordExistence.ts';
import { ReferenceWaits } from '../modules/records/commands/ReferenceWaits.ts';
import { loadConfig } from '../platform/config.ts';
import { openOwnStateStore } from './openBackend.ts';
import { terminal } from './terminal.ts';
import { withDocumentStore, withReadModels, withWorkspace } from './withStores.ts';

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
