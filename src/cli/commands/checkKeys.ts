import { createPublicKey } from 'node:crypto';
import { keyId } from '../../modules/integrity/signing.ts';
import { KnownKeys } from '../../modules/KnownKeys.ts';
import type { Config } from '../../platform/config.ts';
import { findSessionSecret, type LastingKeyName, lastingKeys } from '../../server/keyFiles.ts';
import { findSigningKey } from '../../server/signingKey.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { type CheckResult, failed, looked, ok, warn } from './checkResult.ts';

/** Checks whether each key of the service is usable, and is the one known to the log. */
export async function checkKeys(eventLog: EventLog, config: Config): Promise<CheckResult[]> {
  const keys = lastingKeys(config);
  const known = new KnownKeys(eventLog, keys);
  const names = Object.keys(keys) as LastingKeyName[];
  const checks = names.map((name) =>
    looked('keys', async () => {
      const problem = await known.problem(name);
      const advice =
        'Restore the key from a backup. If it is lost permanently, start once with ALLOW_OTHER_KEYS=true.';
      if (problem === undefined) return [];
      // The signing key may deliberately be kept elsewhere: a service starts without it.
      const isElsewhere = name === 'signing' && (await keys.signing.find()).length === 0;
      return [(isElsewhere ? warn : failed)('keys', 'other_key', `${problem} ${advice}`)];
    }),
  );
  const session = looked('keys', async () => {
    await findSessionSecret(config);
    return [];
  });
  const found = (await Promise.all([...checks, session])).flat();
  if (found.length > 0) return found;
  const ages = await Promise.all(names.map(async (name) => ({ name, known: await known.since(name) })));
  // The signing key has a name that everything which it signed tells.
  const signing = await findSigningKey(eventLog, known, false);
  const signingId = signing && keyId(createPublicKey(signing.privateKey));
  const told = ages.flatMap(({ name, known: key }) => {
    const id = name === 'signing' ? signingId : key?.fingerprint;
    return key && id ? [`${keys[name].setting} ${id} since ${key.since.slice(0, 10)}`] : [];
  });
  const said = [
    'all keys that the log knows are present and usable',
    ...(told.length > 0 ? [told.join(', ')] : []),
  ];
  return [ok('keys', said.join(': '))];
}
