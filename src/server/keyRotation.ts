import { createPublicKey } from 'node:crypto';
import { RESPONSE_TTL_MS } from '../modules/idempotency/reservations.ts';
import { keyId, parseSigningKey, signKeyRotation } from '../modules/integrity/signing.ts';
import { Keyring } from '../modules/keyring.ts';
import { resealSecrets } from '../modules/webhooks/secrets.ts';
import { WebhookDirectory } from '../modules/webhooks/webhook.ts';
import { loadConfig } from '../platform/config.ts';
import { ServiceError } from '../platform/errors.ts';
import { managedKeys } from './keys.ts';
import { operator } from './operator.ts';
import { requireKeyFolder, withEventLog } from './stores.ts';
import { terminal } from './terminal.ts';

/** The new epoch, and whether this completed an interrupted rotation. */
interface PseudonymsRotated {
  epoch: number;
  wasKnown: boolean;
}

/** Replaces the key for the hashes in the de-identified view: all hashes change. Rejects as `Keyring.rotate` does. */
export async function rotatePseudonyms(): Promise<PseudonymsRotated> {
  const config = loadConfig(terminal().env);
  requireKeyFolder(config.deidentificationKey, config.dataDir);
  return withEventLog(async (eventLog) => {
    const { wasKnown } = await new Keyring(eventLog, managedKeys(config)).rotate('deidentification', {
      principal: operator(),
    });
    const { epoch } = await new Keyring(eventLog, managedKeys(config)).loadEpoch('deidentification');
    return { epoch, wasKnown };
  });
}

/** The id of the current signing key, and whether this completed an interrupted rotation. */
interface SigningKeyRotated {
  keyId: string;
  wasKnown: boolean;
}

/**
 * Replaces the signing key. From then on everything is signed with the new one, also by running processes. Rejects as
 * `Keyring.rotate` does.
 */
export async function rotateSigningKey(): Promise<SigningKeyRotated> {
  const config = loadConfig(terminal().env);
  requireKeyFolder(config.signingKey, config.dataDir);
  return withEventLog(async (eventLog) => {
    const keys = new Keyring(eventLog, managedKeys(config));
    const log = await eventLog.identity();
    const { wasKnown } = await keys.rotate('signing', { principal: operator() }, async (current, next) => ({
      rotation: signKeyRotation(log, parseSigningKey(current), parseSigningKey(next)),
    }));
    const publicKey = createPublicKey(parseSigningKey(await keys.current('signing')));
    return { keyId: keyId(publicKey), wasKnown };
  });
}

/** The number of webhooks whose secrets were resealed, and whether this completed an interrupted rotation. */
interface WebhookSecretsKeyRotated {
  sealed: number;
  wasKnown: boolean;
}

/**
 * Replaces the key that seals the secrets of webhooks, and reseals them. Rejects as `Keyring.rotate` does, and with `conflict`
 * when what was made with the previous key is still needed, unless `isForced`.
 */
export async function rotateWebhookSecretsKey(isForced: boolean): Promise<WebhookSecretsKeyRotated> {
  const config = loadConfig(terminal().env);
  requireKeyFolder(config.webhookSecretsKey, config.dataDir);
  return withEventLog(async (eventLog) => {
    const keys = new Keyring(eventLog, managedKeys(config));
    const actor = { principal: operator() };
    const directory = await WebhookDirectory.open(eventLog);
    const reencrypt = async () => resealSecrets(directory, await keys.all('webhookSecrets', true), actor);
    try {
      const finished = await keys.finish('webhookSecrets');
      const sealed = await reencrypt();
      if (finished || sealed > 0) return { sealed, wasKnown: true };
      const known = await keys.since('webhookSecrets');
      if (known?.isRotated && !isForced) requireForgotten(known.since);
      const { wasKnown } = await keys.rotate('webhookSecrets', actor);
      return { sealed: await reencrypt(), wasKnown };
    } finally {
      directory.close();
    }
  });
}

/** After a change, the previous key is needed for as long as requests may be sent again. */
function requireForgotten(since: string): void {
  const until = Date.parse(since) + RESPONSE_TTL_MS;
  if (Date.now() >= until) return;
  throw new ServiceError(
    'conflict',
    `The key was changed at ${since}, and all secrets are sealed with it. Until ${new Date(until).toISOString()} ` +
      'the one before it is needed for requests that are sent again with their Idempotency-Key; --force changes the key all the same.',
  );
}
