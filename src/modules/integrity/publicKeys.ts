import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { canonicalJson } from '../../domain/events/canonicalJson.ts';
import type { Position, RecordedEvent } from '../../domain/events/event.ts';
import { type HashTree, treeRoot } from '../../domain/merkle.ts';
import { asUnreadable } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import { keyEvents } from '../keyring.ts';
import {
  type KeyRotation,
  keyId,
  keyRotationSchema,
  parsePublicKey,
  publicKeyPem,
  rotatedKeys,
  type Signature,
  signatureProblem,
  signStatement,
} from './signing.ts';

/** Maximum clock difference between machines: a replaced key is still accepted for this long. */
const CLOCKS_DIFFER_MS = 5 * 60_000;
const ROTATION = 'CHARTLEDGER KEY ROTATION';
const LINE_LENGTH = 64;
const BLOCK = /-----BEGIN ([^-]+)-----([\s\S]*?)-----END \1-----/g;

interface PublishedKey {
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
  #reached(others: readonly KeyRotation[]): Map<string, PublishedKey> {
    const known = new Map<string, PublishedKey>(this.#trusted.map((key) => [keyId(key), { key }]));
    const followAll = (rotations: readonly KeyRotation[], backwards: boolean) => {
      // Each may lead to a key from which another one leads on.
      for (const _ of rotations) for (const rotation of rotations) this.#follow(rotation, known, backwards);
    };
    followAll(this.#rotations, true);
    followAll(others, false);
    return known;
  }

  #follow(rotation: KeyRotation, known: Map<string, PublishedKey>, backwards: boolean): void {
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
  const statement = rotations.length === 0 ? body : { ...body, key_rotations: [...rotations] };
  return signStatement(statement, privateKey);
}

/** Returns the keys for checking what this key and its predecessors signed. */
export function publicKeysOf({ privateKey, rotations }: SigningKey): PublicKeys {
  return new PublicKeys([createPublicKey(privateKey)], rotations);
}

/** The name of the signing key in events about keys. */
const SIGNING_SETTING = 'SIGNING_KEY';

type RotationLog = Pick<EventLog, 'readStream' | 'identity'>;

/** A rotation that both keys signed, and its place in the log: the previous key signs nothing after it. */
interface LoggedRotation {
  rotation: KeyRotation;
  position: Position;
}

/** What the log records about signing keys. */
interface LoggedRotations {
  rotations: LoggedRotation[];
  /** Those after the last key that came into use without its predecessor, because that was lost. */
  last: LoggedRotation[];
  /** A line for each forged one. */
  problems: string[];
}

/** Returns the valid rotations of the signing key, in log order. Rejects as `EventLog` does. */
export async function signingKeyRotations(eventLog: RotationLog): Promise<KeyRotation[]> {
  return (await loggedRotations(eventLog)).rotations.map(({ rotation }) => rotation);
}

/** What is needed to check heads, as recorded in the log. */
interface KeysOfLog {
  /** Undefined when no key is trusted. */
  publicKeys: PublicKeys | undefined;
  /** By key id: position of the event that ended the key. */
  ends: ReadonlyMap<string, Position>;
  /** What is wrong with the rotations, a line each. */
  problems: string[];
}

/** Returns the trusted keys with the rotations recorded in the log. Rejects with `unavailable`. */
export async function keysOfLog(eventLog: RotationLog, trusted: PublicKeys | undefined): Promise<KeysOfLog> {
  let found: LoggedRotations;
  try {
    found = await loggedRotations(eventLog);
  } catch (error) {
    asUnreadable(error);
    const problem =
      "The events about signing keys cannot be read. To find out why, run: chartledger verify --workspace '*'";
    return { publicKeys: trusted, ends: new Map(), problems: [problem] };
  }
  const { rotations, last, problems } = found;
  const publicKeys = trusted?.with(rotations.map(({ rotation }) => rotation));
  const foreign = last.filter(({ rotation }) => publicKeys?.has(rotation.next_signature.key_id) === false);
  return {
    publicKeys,
    ends: new Map(rotations.map(({ rotation, position }) => [rotation.previous_signature.key_id, position])),
    problems: [
      ...problems,
      ...foreign.map(({ position }) => forged(position, 'it does not lead to the current signing key')),
    ],
  };
}

async function loggedRotations(eventLog: RotationLog): Promise<LoggedRotations> {
  const events = (await keyEvents(eventLog)).filter(({ data }) => data.setting === SIGNING_SETTING);
  const found: LoggedRotations = { rotations: [], last: [], problems: [] };
  if (events.length === 0) return found;
  const log = await eventLog.identity();
  for (const event of events) {
    const before = found.last.at(-1)?.rotation;
    if (event.type === 'KeyAdopted') {
      found.last = [];
      continue;
    }
    const rotation = keyRotationSchema.safeParse(event.data.rotation).data;
    const problem = rotationProblem(rotation, before, log);
    if (rotation === undefined || problem !== undefined) {
      found.problems.push(forged(event.position, problem));
      continue;
    }
    const logged = { rotation, position: event.position };
    found.rotations.push(logged);
    found.last.push(logged);
  }
  return found;
}

/** `before`: the previous rotation, while the key that it introduced was in use. */
function rotationProblem(
  rotation: KeyRotation | undefined,
  before: KeyRotation | undefined,
  log: string,
): string | undefined {
  if (rotation === undefined || rotatedKeys(rotation) === undefined) return 'it was not signed with its keys';
  if (rotation.log !== log) return 'it belongs to another event log';
  const { key_id } = rotation.previous_signature;
  if (before === undefined || before.next_signature.key_id === key_id) return undefined;
  return `the key ${key_id} was not in use`;
}

function forged(position: Position, problem = 'it is not a key rotation'): string {
  return `The rotation of the signing key at position ${position} is not valid: ${problem}.`;
}

/** SHA-256, lower-case hex. */
export const hashSchema = z.string().regex(/^[0-9a-f]{64}$/);

/** The signature fields, see `Signed`. */
export const signatureFields = {
  key_rotations: z.array(keyRotationSchema).optional(),
  key_id: z.string(),
  signature: z.base64(),
};

/** A signed statement of what a workspace's log held at some time: `size` events, and their tree and chain. */
export const treeHeadSchema = z.strictObject({
  type: z.literal('chartledger.tree_head.v1'),
  workspace: z.string(),
  /** Number of events. */
  size: z.int().min(1),
  root: hashSchema,
  chain: hashSchema,
  last_event_id: z.string(),
  /** When the log recorded that event, ISO 8601, UTC; absent in heads of earlier versions. */
  last_event_recorded_at: z.string().optional(),
  /** ISO 8601, UTC. */
  created_at: z.string(),
  ...signatureFields,
});

export type TreeHead = z.infer<typeof treeHeadSchema>;

/** The last event that a head covers. */
export type LastEvent = Pick<RecordedEvent, 'id'> & Partial<Pick<RecordedEvent, 'recordedAt'>>;

/** Signs the contents of a workspace's log up to its event `last`. */
export function signTreeHead(
  workspace: string,
  tree: HashTree,
  last: LastEvent | null,
  signingKey: SigningKey,
): TreeHead {
  const { size, chain } = tree;
  return signObject(
    {
      type: 'chartledger.tree_head.v1' as const,
      workspace,
      size,
      root: treeRoot(tree),
      chain,
      last_event_id: last?.id ?? '',
      ...(last?.recordedAt && { last_event_recorded_at: last.recordedAt }),
      created_at: new Date().toISOString(),
    },
    signingKey,
  );
}
