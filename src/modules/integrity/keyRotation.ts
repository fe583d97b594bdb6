import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { signatureProblem, signStatement } from './signing.ts';

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
