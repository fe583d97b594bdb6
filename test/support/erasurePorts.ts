import { openDocumentStore, openReadModels, openStateStore } from '../../src/app/openBackend.ts';
import type { ErasurePorts } from '../../src/erasure/finishErasure.ts';
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
