import { createHash } from 'node:crypto';
import type { errors as Errors } from 'jose';
import { z } from 'zod';
import { ServiceError } from '../../platform/errors.ts';
import type { Clock } from '../../storage/rateLimiters.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import type { FoundKey, KeyDirectory } from './keyDirectory.ts';
import { assertionAlgorithms, type PublicKey, verifyingKey } from './publicKeys.ts';

/** An assertion may be valid for at most five minutes (SMART App Launch 2, client authentication: asymmetric). */
const MAX_VALID_SECONDS = 300;
/** By how much the clock of a client may differ. */
const CLOCKS_APART_SECONDS = 30;

/**
 * The assertions that were used, by client and `jti`, until they have expired; `revision` is when, in seconds since 1970. If the
 * store is lost, an assertion can be used once more within its five minutes.
 */
const usedAssertions: StateTable<object> = { name: 'used_assertions_v1', body: z.object({}) };

/** The client that an assertion authenticates: an API key, and which of its public keys verified the signature. */
export interface AuthenticatedClient {
  found: FoundKey;
  publicKey: PublicKey;
}

const claims = z.object({ sub: z.string(), exp: z.number(), jti: z.string().min(1) });

const refused = (message: string) => new ServiceError('unauthorized', message);

const unknownClient = () =>
  refused(
    'No public key of the client verifies the assertion. Check its iss and sub (the id of the API key), its kid, and the public keys of the API key.',
  );

/** Authenticates clients by signed assertions (RFC 7523; SMART App Launch 2), each of which is accepted once. */
export class ClientAssertions {
  readonly #directory: KeyDirectory;
  readonly #stateStore: StateStore;
  readonly #clock: Clock;

  constructor({
    directory,
    stateStore,
    clock,
  }: { directory: KeyDirectory; stateStore: StateStore; clock: Clock }) {
    this.#directory = directory;
    this.#stateStore = stateStore;
    this.#clock = clock;
  }

  /**
   * Returns the client that signed an assertion for the token endpoint at an address; whether its key is in use is not checked.
   * Rejects with `unauthorized`, and with `unavailable`.
   */
  async verify(assertion: string, tokenUrl: string): Promise<AuthenticatedClient> {
    const client = await this.#clientOf(assertion);
    const { found, publicKey } = client;
    const { id } = found.key;
    const now = this.#clock.now();
    const { errors, jwtVerify } = await import('jose');
    const { payload } = await jwtVerify(assertion, verifyingKey(publicKey), {
      algorithms: [assertionAlgorithms[publicKey.kty]],
      ...{ issuer: id, subject: id, audience: tokenUrl },
      ...{ currentDate: new Date(now), clockTolerance: CLOCKS_APART_SECONDS },
    }).catch((error) => {
      throw refusalOf(error, tokenUrl, errors);
    });
    const { data } = claims.safeParse(payload);
    if (data === undefined) throw refused('The assertion must have exp, and a jti that is not empty.');
    const ends = Math.ceil(data.exp + CLOCKS_APART_SECONDS);
    if (ends > now / 1000 + MAX_VALID_SECONDS + 2 * CLOCKS_APART_SECONDS)
      throw refused('The assertion must expire within five minutes.');
    await this.#useOnce(id, data.jti, ends);
    return client;
  }

  /** Removes what has expired. Rejects with `unavailable`. */
  prune(): Promise<void> {
    return this.#stateStore.prune(usedAssertions, Math.floor(this.#clock.now() / 1000));
  }

  /** Returns the client that an assertion names, which nothing proves yet. */
  async #clientOf(assertion: string): Promise<AuthenticatedClient> {
    const { iss, kid } = await namesIn(assertion);
    const known = this.#findKnown(iss, kid);
    if (known) return known;
    await this.#directory.refresh();
    const client = this.#findKnown(iss, kid);
    if (client) return client;
    throw unknownClient();
  }

  #findKnown(id: string, keyId: string): AuthenticatedClient | undefined {
    const { keys, workspaces } = this.#directory.known;
    const key = keys.get(id);
    const workspace = key && workspaces.get(key.workspace);
    const publicKey = key?.publicKeys?.find(({ kid }) => kid === keyId);
    return key && workspace && publicKey && { found: { key, workspace }, publicKey };
  }

  /** Of several processes that get an assertion, one accepts it. */
  async #useOnce(client: string, jti: string, ends: number): Promise<void> {
    const id = createHash('sha256').update(`${client}\n${jti}`).digest('base64url');
    const row = { id, partition: id, order: 0, revision: ends, body: {} };
    if (await this.#stateStore.swap(usedAssertions, row, undefined)) return;
    throw refused('The assertion was used before. Sign another one, with a new jti, for each token.');
  }
}

async function namesIn(assertion: string): Promise<{ iss: string; kid: string }> {
  const { decodeJwt, decodeProtectedHeader } = await import('jose');
  try {
    const { iss = '' } = decodeJwt(assertion);
    const { kid = '' } = decodeProtectedHeader(assertion);
    return { iss, kid };
  } catch {
    throw refused('The client_assertion is not a signed JWT.');
  }
}

/** What is wrong with the claims is said only to those who have the private key: the signature is verified first. */
function refusalOf(error: unknown, tokenUrl: string, errors: typeof Errors): ServiceError {
  if (error instanceof errors.JWTExpired) return refused('The assertion has expired.');
  if (!(error instanceof errors.JWTClaimValidationFailed)) return unknownClient();
  return error.claim === 'aud'
    ? refused(`The aud of the assertion must be the address of the token endpoint, ${tokenUrl}.`)
    : refused(`The ${error.claim} of the assertion is not valid.`);
}
