import type { Caller } from '../domain/events/newEvent.ts';
import type { Workspace } from '../modules/auth/apiKeys.ts';
import type { DeletionPorts } from '../modules/erasure/deleteWorkspace.ts';
import { WebhookDirectory } from '../modules/webhooks/webhook.ts';
import { loadConfig } from '../platform/config.ts';
import { openOwnStateStore } from './openStorage.ts';
import { withCurrentModels, withDocumentStore, withWorkspace } from './stores.ts';
import { terminal } from './terminal.ts';

/** Runs `work` with everything needed to erase in a workspace; rejects with `not_found` when there is none with that id. */
export function withErasure<Result>(
  workspace: string,
  work: (ports: DeletionPorts, caller: Caller, workspace: Workspace) => Promise<Result>,
): Promise<Result> {
  return withWorkspace(workspace, ({ eventLog, caller, directory }) =>
    withCurrentModels(eventLog, (readModels) =>
      withDocumentStore(async (documentStore) => {
        const stateStore = await openOwnStateStore(loadConfig(terminal().env), eventLog);
        const webhooks = await WebhookDirectory.open(eventLog);
        try {
          const webhooksOf = (id: string) => webhooks.idsOf(id);
          const ports = { eventLog, readModels, documentStore, stateStore, webhooksOf, directory, webhooks };
          return await work(ports, caller, directory.known.workspaces.get(workspace) as Workspace);
        } finally {
          webhooks.close();
          await stateStore.close();
        }
      }),
    ),
  );
}
