import { createHash, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { isJsonObject, type JsonObject } from '../../domain/events/event.ts';
import { validationError } from '../../domain/records/schema/validation.ts';

/** The algorithms of SMART App Launch 2, by type of key. */
export const assertionAlgorithms = { RSA: 'RS384', EC: 'ES384' } as const;

const MAX_KEYS = 10;
const MAX_KEY_ID_LENGTH = 100;
const MIN_RSA_BITS = 2048;
/** The members of a JWK that only its owner may know (RFC 7518, 6.2.2, 6.3.2 and 6.4.1). */
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

const kid = z.string().min(1).max(MAX_KEY_ID_LENGTH);
const schema = z.discriminatedUnion('kty', [
  z.object({ kty: z.literal('RSA'), kid: kid.optional(), n: z.string(), e: z.string() }),
  z.object({
    kty: z.literal('EC'),
    kid: kid.optional(),
    crv: z.literal('P-384'),
    x: z.string(),
    y: z.string(),
  }),
]);

/** A public key of the holder of an API key, as a JWK with only the members that verify a signature. */
export type PublicKey = z.output<typeof schema> & { kid: string };

/** Returns the key that verifies signatures. */
export function verifyingKey(key: PublicKey): KeyObject {
  return createPublicKey({ key: key as JsonWebKey, format: 'jwk' });
}

const refusal = (message: string) => validationError([{ field: 'public_keys', message }]);

/**
 * Returns the public keys in a parsed JWK set, or JWK (RFC 7517): those for signatures with RS384 or ES384; others are left out. A key
 * without `kid` gets its thumbprint (RFC 7638). Throws `validation_failed` for what is neither, for a private key, and for a
 * set without such keys, with more than 10, or with two of the same `kid`.
 */
export function parsePublicKeys(value: unknown): PublicKey[] {
  const keys = jwksIn(value).flatMap((jwk) => publicKeyOf(jwk) ?? []);
  if (keys.length === 0)
    throw refusal(
      'must have a public key for signatures: RSA with at least 2048 bits (RS384), or P-384 (ES384)',
    );
  if (keys.length > MAX_KEYS) throw refusal(`must have at most ${MAX_KEYS} keys`);
  if (new Set(keys.map((key) => key.kid)).size < keys.length)
    throw refusal('must not have two keys of the same kid');
  return keys;
}

function jwksIn(value: unknown): JsonObject[] {
  const jwks = isJsonObject(value) ? (value.keys ?? [value]) : undefined;
  if (Array.isArray(jwks) && jwks.every(isJsonObject)) return jwks;
  throw refusal('must be a JWK set or a JWK (RFC 7517)');
}

/** Undefined for a key of another type or use. */
function publicKeyOf(jwk: JsonObject): PublicKey | undefined {
  if (privateMembers.some((name) => name in jwk))
    throw refusal(
      'must not have a private key: give only the public one, and replace the private one if others had it',
    );
  const { use = 'sig', alg } = jwk;
  const { data } = schema.safeParse(jwk);
  if (
    data === undefined ||
    use !== 'sig' ||
    (alg ?? assertionAlgorithms[data.kty]) !== assertionAlgorithms[data.kty]
  )
    return undefined;
  const key = { ...data, kid: data.kid ?? thumbprintOf(data) };
  return isStrong(key) ? key : undefined;
}

function isStrong(key: PublicKey): boolean {
  try {
    const { asymmetricKeyDetails } = verifyingKey(key);
    return (asymmetricKeyDetails?.modulusLength ?? MIN_RSA_BITS) >= MIN_RSA_BITS;
  } catch {
    throw refusal('has a key that is not valid');
  }
}

function thumbprintOf(key: z.output<typeof schema>): string {
  const { kid: _kid, ...members } = key;
  const sorted = Object.fromEntries(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return createHash('sha256').update(JSON.stringify(sorted)).digest('base64url');
}
