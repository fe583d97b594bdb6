import type { KeyObject } from 'node:crypto';
import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import { type KeyRotation, keyRotationSchema, rotatedKeys } from './keyRotation.ts';
import type { Signed } from './SigningKey.ts';
import { keyId, parsePublicKey, publicKeyPem, signatureProblem } from './signing.ts';

/** Maximum clock difference between machines: a replaced key is still accepted for this long. */
const CLOCKS_DIFFER_MS = 5 * 60_000;
const ROTATION = 'CHARTLEDGER KEY ROTATION';
const LINE_LENGTH = 64;
const BLOCK = /-----BEGIN ([^-]+)-----([\s\S]*?)-----END \1-----/g;

interface KnownKey {
  key: KeyObject;
  /** When another one replaced it; undefined: in use, as far as known. */
  until?: string;
}

/**
 * The keys for checking signatures: trusted keys, and the rotations that lead from them to others, forwards and backwards. A
 * signature is valid if its key was in use at its time.
 */
export class PublicKeys {
  /** The newest trusted key. */
  readonly newest: KeyObject;
  readonly #trusted: readonly [KeyObject, ...KeyObject[]];
  readonly #rotations: readonly KeyRotation[];
  /** Rotations already checked, by their text. */
  readonly #checked = new Map<string, ReturnType<typeof rotatedKeys>>();

  /** `trusted`: at least one, newest first. */
  constructor(trusted: readonly [KeyObject, ...KeyObject[]], rotations: readonly KeyRotation[] = []) {
    this.newest = trusted[0];
    this.#trusted = trusted;
    this.#rotations = rotations;
  }

  /** Parses a text written by `text`, or concatenated PEM texts. Throws `validation_failed`. */
  static parse(text: string): PublicKeys {
    const blocks = [...text.matchAll(BLOCK)];
    const rotations = blocks
      .filter(([, label]) => label === ROTATION)
      .map(([, , body]) => parseRotation(body));
    const [first, ...others] = blocks.filter(([, label]) => label !== ROTATION).map(([pem]) => pem);
    const newest = parsePublicKey(first ?? text);
    return new PublicKeys(
      [newest, ...others.map(parsePublicKey)],
      rotations.filter((rotation) => rotation !== undefined),
    );
  }

  /** Returns these keys, with more rotations in addition to the known ones. */
  with(rotations: readonly KeyRotation[]): PublicKeys {
    return new PublicKeys(this.#trusted, [...this.#rotations, ...rotations]);
  }

  /** Returns the newest key in PEM, followed by the rotations, which other readers of PEM ignore. */
  text(): string {
    const rotations = this.#rotations.map((rotation) => {
      const base64 = Buffer.from(JSON.stringify(rotation)).toString('base64');
      const lines = base64.match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g')) ?? [];
      return `-----BEGIN ${ROTATION}-----\n${lines.join('\n')}\n-----END ${ROTATION}-----\n`;
    });
    return [...this.#trusted.map(publicKeyPem), ...rotations].join('');
  }

  /** As `problemAt`, for an object that states when it was created. */
  problem(signed: Signed & { created_at: string }): string | undefined {
    return this.problemAt(signed, signed.created_at);
  }

  /**
   * Returns what is wrong with the signature of an object that claims to have been signed at a time (ISO 8601); undefined when a
   * key in use at that time signed exactly that.
   */
  problemAt(signed: Signed, signedAt: string): string | undefined {
    const { key_id, key_rotations = [] } = signed;
    const known = this.#reached(key_rotations).get(key_id);
    if (known === undefined) return `it was signed with the key ${key_id}, not with ${keyId(this.newest)}`;
    const problem = signatureProblem(signed, known.key);
    if (problem !== undefined || known.until === undefined) return problem;
    // An invalid time is never before the end.
    const isInTime = Date.parse(signedAt) <= Date.parse(known.until) + CLOCKS_DIFFER_MS;
    return isInTime
      ? undefined
      : `it claims to have been signed at ${signedAt} with the key ${key_id}, which was replaced at ${known.until}`;
  }

  /** Whether the key with an id is trusted, or rotations known here lead to it. */
  has(id: string): boolean {
    return this.#reached([]).has(id);
  }

  /**
   * Returns the trusted keys and those that rotations lead to, by id. Rotations that come with the object being checked lead only
   * forwards, and not from a key whose successor is known: a stolen key that was replaced cannot name another.
   */
  #reached(others: readonly KeyRotation[]): Map<string, KnownKey> {
    const known = new Map<string, KnownKey>(this.#trusted.map((key) => [keyId(key), { key }]));
    const takeAll = (rotations: readonly KeyRotation[], backwards: boolean) => {
      // Each may lead to a key from which another one leads on.
      for (const _ of rotations) for (const rotation of rotations) this.#take(rotation, known, backwards);
    };
    takeAll(this.#rotations, true);
    takeAll(others, false);
    return known;
  }

  #take(rotation: KeyRotation, known: Map<string, KnownKey>, backwards: boolean): void {
    const { previous_signature, next_signature, rotated_at } = rotation;
    const previous = known.get(previous_signature.key_id);
    const next = known.get(next_signature.key_id);
    const leads = previous === undefined ? backwards && next !== undefined : previous.until === undefined;
    const keys = leads ? this.#keysOf(rotation) : undefined;
    if (keys === undefined) return;
    known.set(previous_signature.key_id, { key: keys.previous, until: rotated_at });
    if (next === undefined) known.set(next_signature.key_id, { key: keys.next });
  }

  #keysOf(rotation: KeyRotation): ReturnType<typeof rotatedKeys> {
    const text = canonicalJson(rotation);
    if (!this.#checked.has(text)) this.#checked.set(text, rotatedKeys(rotation));
    return this.#checked.get(text);
  }
}

function parseRotation(base64 = ''): KeyRotation | undefined {
  try {
    return keyRotationSchema.safeParse(JSON.parse(Buffer.from(base64, 'base64').toString())).data;
  } catch {
    return undefined;
  }
}
