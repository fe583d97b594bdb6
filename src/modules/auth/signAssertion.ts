import { randomUUID } from 'node:crypto';
import { importJWK, importPKCS8, type JWK, SignJWT } from 'jose';
import { z } from 'zod';
import { validationError } from '../../domain/records/schema/validation.ts';
import { assertionAlgorithms } from './publicKeys.ts';

/** An assertion may be valid for at most five minutes (SMART App Launch 2, client authentication: asymmetric). */
const VALID_SECONDS = 240;

const privateKeySchema = z.looseObject({
  kty: z.enum(['RSA', 'EC']),
  kid: z.string().optional(),
  d: z.string(),
});

/** A private key with which this service authenticates to an EMR. */
export interface AssertionKey {
  key: Awaited<ReturnType<typeof importPKCS8>> | Uint8Array;
  algorithm: (typeof assertionAlgorithms)[keyof typeof assertionAlgorithms];
  /** By which the EMR finds the public key. */
  keyId: string | undefined;
}

const unusable = () =>
  validationError([
    {
      field: '',
      message: 'The client key must be a private key: an RSA or P-384 key as JWK (JSON), or in PEM (PKCS#8)',
    },
  ]);

/**
 * Returns the private key in a text: a JWK, the first private key of a JWK set, or PEM (PKCS#8). Rejects with `validation_failed` for
 * anything else.
 */
export async function readAssertionKey(text: string): Promise<AssertionKey> {
  try {
    return text.trimStart().startsWith('-----') ? await ofPem(text) : await ofJwk(text);
  } catch {
    throw unusable();
  }
}

async function ofJwk(text: string): Promise<AssertionKey> {
  const value = JSON.parse(text);
  const candidates: unknown[] = Array.isArray(value.keys) ? value.keys : [value];
  const jwk = candidates.flatMap((one) => privateKeySchema.safeParse(one).data ?? [])[0];
  if (jwk === undefined) throw unusable();
  const algorithm = assertionAlgorithms[jwk.kty];
  return { key: await importJWK(jwk as JWK, algorithm), algorithm, keyId: jwk.kid };
}

async function ofPem(text: string): Promise<AssertionKey> {
  for (const algorithm of Object.values(assertionAlgorithms)) {
    const key = await importPKCS8(text, algorithm).catch(() => undefined);
    if (key) return { key, algorithm, keyId: undefined };
  }
  throw unusable();
}

/**
 * Returns an assertion with which a client asks for a token (RFC 7523; SMART App Launch 2): single use, and valid for some
 * minutes. `keyId` is needed unless the key has one.
 */
export function signAssertion(
  { key, algorithm, keyId }: AssertionKey,
  { clientId, tokenUrl }: { clientId: string; tokenUrl: string },
): Promise<string> {
  return new SignJWT()
    .setProtectedHeader({ alg: algorithm, typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(tokenUrl)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime(`${VALID_SECONDS}s`)
    .sign(key);
}
