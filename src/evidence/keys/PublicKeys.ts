import type { KeyObject } from 'node:crypto';
import { canonicalJson } from '../../events/canonicalJson.ts';
import { keyId, parsePublicKey, publicKeyPem, signatureProblem } from '../signing.ts';
import { type KeyRotation, keyRotationSchema, rotatedKeys } from './keyRotation.ts';
import type { Signed } from './SigningKey.ts';

/** So far the clocks of machines may differ: a key that was replaced still counts for so long. */
const CLOCKS_DIFFER_MS = 5 * 60_000;
const ROTATION = 'CHARTLEDGER KEY ROTATION';
const LINE_LENGTH = 64;
const BLOCK = /-----BEGIN ([^-]+)-----([\s\S]*?)-----END \1-----/g;

interface KnownKey {
  key: KeyObject;
  /** When another one took its place; undefined: it is in use, as far as is known. */
  until?: string;
}

/**
 * What signatures are checked with: keys that are trusted, and the rotations that lead from them to others, forwards and backwards. A
 * signature counts when its key was in use at its time.
 */
export class PublicKeys {
  /** The newest that is trusted. */
  readonly newest: KeyObject;
  readonly #trusted: readonly [KeyObject, ...KeyObject[]];
  readonly #rotations: readonly KeyRotation[];
  /** Rotations that were checked, by their text. */
  readonly #checked = new Map<string, ReturnType<typeof rotatedKeys>>();

  /** `trusted`: at least one, the newest first. */
  constructor(trusted: readonly [KeyObject, ...KeyObject[]], rotations: readonly KeyRotation[] = []) {
    this.newest = trusted[0];
    this.#trusted = trusted;
    this.#rotations = rotations;
  }

  /** Those in a text that `text` wrote, or in PEM texts one behind the other. Throws `validation_failed`. */
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

  /** These, and rotations beside those that are known. */
  with(rotations: readonly KeyRotation[]): PublicKeys {
    return new PublicKeys(this.#trusted, [...this.#rotations, ...rotations]);
  }

  /** The newest key in PEM, and behind it the rotations, which other readers of PEM pass over. */
  text(): string {
    const rotations = this.#rotations.map((rotation) => {
      const base64 = Buffer.from(JSON.stringify(rotation)).toString('base64');
      const lines = base64.match(new RegExp(`.{1,${LINE_LENGTH}}`, 'g')) ?? [];
      return `-----BEGIN ${ROTATION}-----\n${lines.join('\n')}\n-----END ${ROTATION}-----\n`;
    });
    return [...this.#trusted.map(publicKeyPem), ...rotations].join('');
  }

  /** As `problemAt`, of what says itself when it was made. */
  problem(signed: Signed & { created_at: string }): string | undefined {
    return this.problemAt(signed, signed.created_at);
  }

  /**
   * What is wrong with the signature of an object that says that it was signed at a time (ISO 8601); undefined when a key that was in
   * use then signed exactly that.
   */
  problemAt(signed: Signed, signedAt: string): string | undefined {
    const { key_id, key_rotations = [] } = signed;
    const known = this.#reached(key_rotations).get(key_id);
    if (known === undefined) return `it was signed with the key ${key_id}, not with ${keyId(this.newest)}`;
    const problem = signatureProblem(signed, known.key);
    if (problem !== undefined || known.until === undefined) return problem;
    // What is not a time is never before the end.
    const isInTime = Date.parse(signedAt) <= Date.parse(known.until) + CLOCKS_DIFFER_MS;
    return isInTime
      ? undefined
      : `it claims to have been signed at ${signedAt} with the key ${key_id}, which was replaced at ${known.until}`;
  }

  /** Whether a key of an id is trusted, or rotations that are known here lead to it. */
  has(id: string): boolean {
    return this.#reached([]).has(id);
  }

  /**
   * The keys that are trusted and those that rotations lead to, by their ids. Rotations that come with what is checked lead
   * forwards alone, and from no key of which the successor is known: whoever stole one that was replaced names no other.
   */
  #reached(others: readonly KeyRotation[]): Map<string, KnownKey> {
    const known = new Map<string, KnownKey>(this.#trusted.map((key) => [keyId(key), { key }]));
    const takeAll = (rotations: readonly KeyRotation[], backwards: boolean) => {
      // Each may lead to what another one leads on from.
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
