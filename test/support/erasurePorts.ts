import type { Caller } from '../../src/domain/events/newEvent.ts';
import type { ErasurePorts } from '../../src/modules/erasure/finish.ts';
import { openDocumentStore, openReadModels, openStateStore } from '../../src/server/openStorage.ts';

import type { TestService } from './service.ts';

/** The ports of erasures over a service's stores, beside the service itself, which has no webhooks. */
export async function openErasurePorts({
  eventLog,
  config: { readModelUrl, stateUrl, documentsUrl },
}: TestService): Promise<{ ports: ErasurePorts; close: () => Promise<unknown> }> {
  const readModels = await openReadModels(readModelUrl);
  const stateStore = await openStateStore(stateUrl);
  const documentStore = await openDocumentStore(documentsUrl);
  return {
    ports: { eventLog, readModels, stateStore, documentStore, webhooksOf: () => [] },
    close: () => Promise.all([readModels, stateStore, documentStore].map((store) => store.close())),
  };
}

/** An operator who erases in a service's workspace `clinic`; each call is a request of its own. */
export function eraserIn({ workspaceId }: Pick<TestService, 'workspaceId'>): Caller {
  return {
    workspace: workspaceId('clinic'),
    principal: { type: 'operator', id: 'test' },
    requestId: crypto.randomUUID(),
  };
}
