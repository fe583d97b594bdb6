import { createPublicKey, type KeyObject } from 'node:crypto';
import type { KeyRotation } from './keyRotation.ts';
import { PublicKeys } from './PublicKeys.ts';
import { type Signature, signStatement } from './signing.ts';

/** What is signed includes how its key succeeded the previous ones. */
export interface Signed extends Signature {
  /** Absent while the key is the first. */
  key_rotations?: readonly KeyRotation[] | undefined;
}

/** The signing key, and the rotations by which it succeeded the previous ones. */
export interface SigningKey {
  privateKey: KeyObject;
  rotations: readonly KeyRotation[];
}

/** Returns the object with its signature. It must equal its own JSON when parsed: no `undefined`. */
export function signObject<Body extends object>(
  body: Body,
  { privateKey, rotations }: SigningKey,
): Body & Signature & { key_rotations?: KeyRotation[] } {
  const told = rotations.length === 0 ? body : { ...body, key_rotations: [...rotations] };
  return signStatement(told, privateKey);
}

/** Returns the keys for checking what this key and its predecessors signed. */
export function publicKeysOf({ privateKey, rotations }: SigningKey): PublicKeys {
  return new PublicKeys([createPublicKey(privateKey)], rotations);
}
