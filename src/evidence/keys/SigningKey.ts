import { createPublicKey, type KeyObject } from 'node:crypto';
import { type Signature, signStatement } from '../signing.ts';
import type { KeyRotation } from './keyRotation.ts';
import { PublicKeys } from './PublicKeys.ts';

/** What is signed tells how its key came after those before. */
export interface Signed extends Signature {
  /** Left out while the key is the first. */
  key_rotations?: readonly KeyRotation[] | undefined;
}

/** The key that signs, and the rotations by which it came after those before. */
export interface SigningKey {
  privateKey: KeyObject;
  rotations: readonly KeyRotation[];
}

/** The object with its signature. It must be what its own JSON gives when parsed: without `undefined`. */
export function signObject<Body extends object>(
  body: Body,
  { privateKey, rotations }: SigningKey,
): Body & Signature & { key_rotations?: KeyRotation[] } {
  const told = rotations.length === 0 ? body : { ...body, key_rotations: [...rotations] };
  return signStatement(told, privateKey);
}

/** What checks what the key signs, and what those before it signed. */
export function publicKeysOf({ privateKey, rotations }: SigningKey): PublicKeys {
  return new PublicKeys([createPublicKey(privateKey)], rotations);
}
