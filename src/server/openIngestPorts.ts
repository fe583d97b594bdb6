import { MessageClaims } from '../modules/integrations/messages/MessageClaims.ts';
import { MessageStore } from '../modules/integrations/messages/MessageStore.ts';
import { RememberedSources } from '../modules/integrations/RememberedSources.ts';
import { openWriteWarnings } from '../modules/readiness/writeWarnings.ts';
import { RecordExistence } from '../modules/records/commands/RecordExistence.ts';
import { ReferenceWaits } from '../modules/records/commands/ReferenceWaits.ts';
import type { OpenStores } from './openApiPorts.ts';

/**
 * Opens what is needed to accept records and messages, over open stores; `close` ends what was opened here. Rejects with
 * `unavailable`.
 */
export async function openIngestPorts(
  stores: Pick<
    OpenStores,
    'eventLog' | 'readModels' | 'stateStore' | 'documentStore' | 'knownKeys' | 'clock'
  >,
) {
  const { eventLog, readModels, stateStore, knownKeys, clock } = stores;
  const messages = new MessageStore(stores);
  const secrets = () => knownKeys.all('webhookSecrets');
  const existence = new RecordExistence(eventLog, readModels);
  const referenceWaits = new ReferenceWaits(existence);
  const following = new AbortController();
  await existence.followErasures(following.signal);
  const ports = {
    existence,
    referenceWaits,
    warnings: openWriteWarnings(eventLog),
    sources: new RememberedSources(eventLog),
    messages,
    claims: new MessageClaims({ stateStore, clock, messages, secrets }),
  };
  const close = () => {
    following.abort();
    referenceWaits.close();
  };
  return { ports, close };
}
