import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import { ServiceError } from '../../platform/errors.ts';

const KEY_ID_LENGTH = 16;

/** The fields that a signature adds to an object. */
export interface Signature {
  /** Identifies the key: the first 16 hex digits of the SHA-256 of its public key (SPKI, DER). */
  key_id: string;
  /** Ed25519, base64, over the canonical JSON (RFC 8785) of the object without this field. */
  signature: string;
}

/** Generates a private key: PKCS#8, DER. */
export function generateSigningKey(): Buffer {
  return generateKeyPairSync('ed25519', {
    privateKeyEncoding: { type: 'pkcs8', format: 'der' },
    publicKeyEncoding: { type: 'spki', format: 'der' },
  }).privateKey;
}

/** Returns the private key in PKCS#8 DER bytes; throws `validation_failed` when they are not an Ed25519 key. */
export function parseSigningKey(der: Buffer): KeyObject {
  return ed25519(
    () => createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }),
    'The signing key is not an Ed25519 private key (PKCS#8, DER).',
  );
}

/** Returns the public key in a PEM text; throws `validation_failed` when it contains no Ed25519 key. */
export function parsePublicKey(pem: string): KeyObject {
  return ed25519(() => createPublicKey(pem), 'The public key is not an Ed25519 public key (PEM).');
}

function ed25519(parse: () => KeyObject, otherwise: string): KeyObject {
  let key: KeyObject | undefined;
  try {
    key = parse();
  } catch {
    // The parser's message may contain its input.
  }
  if (key?.asymmetricKeyType !== 'ed25519') throw new ServiceError('validation_failed', otherwise);
  return key;
}

/** Returns the public key, or that of a private one, as PEM (SPKI). */
export function publicKeyPem(key: KeyObject): string {
  const publicKey = key.type === 'private' ? createPublicKey(key) : key;
  return publicKey.export({ type: 'spki', format: 'pem' }) as string;
}

/** Returns the id of a public key, see `Signature`. */
export function keyId(publicKey: KeyObject): string {
  const der = publicKey.export({ type: 'spki', format: 'der' });
  return createHash('sha256').update(der).digest('hex').slice(0, KEY_ID_LENGTH);
}

/** Returns the object with its signature. It must equal its own JSON when parsed: no `undefined`. */
export function signStatement<Body extends object>(body: Body, privateKey: KeyObject): Body & Signature {
  const signed = { ...body, key_id: keyId(createPublicKey(privateKey)) };
  const signature = sign(null, Buffer.from(canonicalJson(signed)), privateKey).toString('base64');
  return { ...signed, signature };
}

/** Returns what is wrong with the signature of an object; undefined when the key signed exactly that. */
export function signatureProblem(
  { signature, ...signed }: Signature,
  publicKey: KeyObject,
): string | undefined {
  const own = keyId(publicKey);
  if (signed.key_id !== own) return `it was signed with the key ${signed.key_id}, not with ${own}`;
  const isValid = verify(
    null,
    Buffer.from(canonicalJson(signed)),
    publicKey,
    Buffer.from(signature, 'base64'),
  );
  return isValid ? undefined : 'its signature does not match: it was changed after it was signed';
}

const signatureSchema = z.strictObject({ key_id: z.string(), signature: z.base64() });

/** A statement that one signing key replaced another, signed by both: each vouches for the other. */
export const keyRotationSchema = z.strictObject({
  type: z.literal('chartledger.key_rotation.v1'),
  /** Identity of the event log whose heads the keys sign. */
  log: z.uuid(),
  /** Public keys: SPKI, DER, base64. */
  previous_key: z.base64(),
  next_key: z.base64(),
  /** ISO 8601, UTC. */
  rotated_at: z.string(),
  previous_signature: signatureSchema,
  next_signature: signatureSchema,
});

export type KeyRotation = z.infer<typeof keyRotationSchema>;

/** States that the key `next` replaces `previous` now. Both are private. */
export function signKeyRotation(log: string, previous: KeyObject, next: KeyObject): KeyRotation {
  const statement = {
    type: 'chartledger.key_rotation.v1' as const,
    log,
    previous_key: encodedKey(previous),
    next_key: encodedKey(next),
    rotated_at: new Date().toISOString(),
  };
  const signatureBy = (key: KeyObject) => {
    const { key_id, signature } = signStatement(statement, key);
    return { key_id, signature };
  };
  return { ...statement, previous_signature: signatureBy(previous), next_signature: signatureBy(next) };
}

/** Returns the keys of a rotation that both of them signed; undefined otherwise. */
export function rotatedKeys(rotation: KeyRotation): { previous: KeyObject; next: KeyObject } | undefined {
  const { previous_signature, next_signature, ...statement } = rotation;
  const previous = decodedKey(rotation.previous_key);
  const next = decodedKey(rotation.next_key);
  if (previous === undefined || next === undefined) return undefined;
  const isSigned =
    signatureProblem({ ...statement, ...previous_signature }, previous) === undefined &&
    signatureProblem({ ...statement, ...next_signature }, next) === undefined;
  return isSigned ? { previous, next } : undefined;
}

function encodedKey(privateKey: KeyObject): string {
  return createPublicKey(privateKey).export({ type: 'spki', format: 'der' }).toString('base64');
}

function decodedKey(base64: string): KeyObject | undefined {
  try {
    const key = createPublicKey({ key: Buffer.from(base64, 'base64'), format: 'der', type: 'spki' });
    return key.asymmetricKeyType === 'ed25519' ? key : undefined;
  } catch {
    return undefined;
  }
}
