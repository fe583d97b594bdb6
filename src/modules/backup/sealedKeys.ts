import { randomBytes, scrypt } from 'node:crypto';
import { promisify } from 'node:util';
import { z } from 'zod';
import { ServiceError } from '../../platform/errors.ts';
import { SEALING_KEY_BYTES, seal, unseal } from '../../platform/sealing.ts';
import type { BackupTarget } from '../../storage/backupTarget.ts';
import { readFile } from './lineFiles.ts';
import { type BackupFile, oneChunk, sha256 } from './manifest.ts';

/** The service's keys by the names of their files in the data folder. */
export type ServiceKeys = ReadonlyMap<string, Buffer>;

/** Memory of 128 MB for each guess. */
const COST = { N: 2 ** 17, r: 8, p: 1 };
const MEMORY_BYTES = 192 * 1024 * 1024;
const SALT_BYTES = 16;
/** Minimum number of characters of a passphrase. */
export const LEAST_PASSPHRASE = 12;

const sealedSchema = z.strictObject({
  kdf: z.literal('scrypt'),
  N: z.literal(COST.N),
  r: z.literal(COST.r),
  p: z.literal(COST.p),
  salt: z.base64(),
  sealed: z.base64(),
});

/**
 * Writes the keys, sealed with a passphrase, for the log with an identity. Rejects with `validation_failed` when it is too short.
 */
export async function writeKeys(
  target: BackupTarget,
  log: string,
  keys: ServiceKeys,
  passphrase: string,
): Promise<BackupFile> {
  if (passphrase.length < LEAST_PASSPHRASE) {
    const message = `The passphrase of a backup must have at least ${LEAST_PASSPHRASE} characters.`;
    throw new ServiceError('validation_failed', message);
  }
  const salt = randomBytes(SALT_BYTES);
  const text = JSON.stringify([...keys].map(([name, key]) => [name, key.toString('base64')]));
  const sealed = seal(await derive(passphrase, salt), log, text);
  const bytes = Buffer.from(
    `${JSON.stringify({ kdf: 'scrypt', ...COST, salt: salt.toString('base64'), sealed })}\n`,
  );
  const file = { name: `keys-${sha256(bytes).slice(0, 8)}.json`, bytes: bytes.length, sha256: sha256(bytes) };
  await target.write(file.name, oneChunk(bytes));
  return file;
}

/** Returns the keys in the file. Rejects with `permission_denied` when the passphrase is wrong, and as `readFile` does. */
export async function readKeys(
  target: BackupTarget,
  { log, keys }: { log: string; keys: BackupFile },
  passphrase: string,
): Promise<ServiceKeys> {
  const { salt, sealed } = sealedSchema.parse(JSON.parse((await readFile(target, keys)).toString()));
  const key = await derive(passphrase, Buffer.from(salt, 'base64'));
  let text: string;
  try {
    text = unseal(key, log, sealed);
  } catch {
    const message = `The passphrase does not unlock the keys of the backup in ${target.place}.`;
    throw new ServiceError('permission_denied', message);
  }
  const found = z.array(z.tuple([z.string(), z.base64()])).parse(JSON.parse(text));
  return new Map(found.map(([name, base64]) => [name, Buffer.from(base64, 'base64')]));
}

function derive(passphrase: string, salt: Buffer): Promise<Buffer> {
  const options = { ...COST, maxmem: MEMORY_BYTES };
  return promisify<string, Buffer, number, object, Buffer>(scrypt)(
    passphrase.normalize('NFC'),
    salt,
    SEALING_KEY_BYTES,
    options,
  );
}
