import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { ConfigError } from '../config.ts';
import { ServiceError } from '../errors.ts';
import type { JsonObject, NewEvent } from '../events/event.ts';
import { type Actor, newActorEvent } from '../events/newEvent.ts';
import { INSTALLATION, KEY_ADOPTIONS_STREAM, KEY_ROTATIONS_STREAM } from '../events/streamNames.ts';
import { appendBehind } from '../ports/appendBehind.ts';
import type { EventLog } from '../ports/eventLog.ts';
import { keyEvents } from './keyEvents.ts';

/** A key that what the log holds depends on. */
export interface LastingKey {
  setting: string;
  /** What comes of another one, as the end of a sentence. */
  consequence: string;
  /** Where it is looked for: the setting, or a file. */
  place: string;
  /** All keys that are set or there: beside the one in use the next one, or the one before. */
  find(): Promise<Buffer[]>;
  /** The key, made when there is none. */
  load(): Promise<Buffer>;
  /** The key that is to take the place of one; made, where it need not be set. */
  next(current: Buffer): Promise<Buffer>;
  /** Puts one that `next` gave in the key's place, once the log knows it. */
  settle(key: Buffer): Promise<void>;
}

/** A key that took the place of another one, by fingerprints. */
export interface RotatedKey {
  before: string;
  after: string;
  /** The log knew it already, from a rotation that was cut off. */
  wasKnown: boolean;
}

const FINGERPRINT_DIGITS = 16;
/** For so long a key is taken to be still in use. */
const TRUSTED_MS = 1_000;

/** Keys that the log knows of a setting, by fingerprints: the one in use last. */
type Fingerprints = readonly string[];

/**
 * The keys of an installation, by fingerprints in its log: the first key of each kind that is used is told to the log, one that
 * takes its place as well, and any other one is noticed. The fingerprint says nothing of the key, which is random.
 */
export class KnownKeys<Name extends string> {
  readonly #eventLog: EventLog;
  readonly #keys: Record<Name, LastingKey>;
  /** Keys that were found to be in use, and when, on the monotonic clock. */
  readonly #trusted = new Map<Name, { bytes: Buffer; at: number }>();

  constructor(eventLog: EventLog, keys: Record<Name, LastingKey>) {
    this.#eventLog = eventLog;
    this.#keys = keys;
  }

  /** The key, as `current` gives it, where one is there; undefined otherwise. */
  async find(name: Name): Promise<Buffer | undefined> {
    const found = await this.#keys[name].find();
    return found.length > 0 ? this.current(name) : undefined;
  }

  /** The key in use, as `current` gives it; one that was replaced is still given for up to a second. */
  async load(name: Name): Promise<Buffer> {
    const trusted = this.#trusted.get(name);
    if (trusted && performance.now() - trusted.at < TRUSTED_MS) return trusted.bytes;
    try {
      return await this.current(name);
    } catch (error) {
      // What cannot be asked now has most likely not changed.
      if (trusted && error instanceof ServiceError && error.code === 'unavailable') return trusted.bytes;
      throw error;
    }
  }

  /**
   * The key that is in use now, made and told to the log when there was none. Rejects with `internal`, whose `problem` says
   * which setting is wrong, when the one that the log knows is gone, or another one is in its place.
   */
  async current(name: Name): Promise<Buffer> {
    const key = this.#keys[name];
    const known = (await this.#known()).get(key.setting)?.at(-1);
    const trusted = this.#trusted.get(name)?.bytes;
    const isSame = trusted !== undefined && fingerprintOf(key.setting, trusted) === known;
    const bytes = isSame ? trusted : known === undefined ? await key.load() : await held(key, known);
    if (known === undefined) await this.#adopt(key, bytes);
    this.#trusted.set(name, { bytes, at: performance.now() });
    return bytes;
  }

  /**
   * Lets another key take the place of the one in use. What the log is told of it beside the fingerprints comes from `describe`.
   * One that was cut off before is brought to its end. Rejects as `current` and `LastingKey.next`.
   */
  async rotate(
    name: Name,
    actor: Actor,
    describe: (current: Buffer, next: Buffer) => Promise<JsonObject> = async () => ({}),
  ): Promise<RotatedKey> {
    const key = this.#keys[name];
    const printOf = (bytes: Buffer) => fingerprintOf(key.setting, bytes);
    const last = (await keyEvents(this.#eventLog)).findLast(({ stream }) => stream === KEY_ROTATIONS_STREAM);
    const [first] = await key.find();
    const current = await this.current(name);
    const before = printOf(current);
    if (first && !first.equals(current)) return { before: printOf(first), after: before, wasKnown: true };
    const next = await key.next(current);
    const after = printOf(next);
    const data = { setting: key.setting, previous_fingerprint: before, fingerprint: after };
    const event = newActorEvent(actor, INSTALLATION, 'KeyRotated', {
      ...data,
      ...(await describe(current, next)),
    });
    const appended = await appendBehind(this.#eventLog, KEY_ROTATIONS_STREAM, event, last?.revision ?? -1);
    const wasKnown = appended === undefined;
    if (wasKnown && (await this.#known()).get(key.setting)?.at(-1) !== after)
      throw new ServiceError('conflict', 'Another key was changed at the same time. Run the command again.');
    await key.settle(next);
    return { before, after, wasKnown };
  }

  /**
   * Lets a service start only with the keys that the log knows; `needed` are those that must be there when it does. Those
   * that it does not know yet are told to it. With `allowOthers` those that are there take the place of the known ones.
   * Rejects with `ConfigError`.
   */
  async require(needed: readonly Name[], allowOthers: boolean): Promise<void> {
    const known = await this.#known();
    const problems: string[] = [];
    for (const [name, key] of Object.entries(this.#keys) as [Name, LastingKey][]) {
      const fingerprint = known.get(key.setting)?.at(-1);
      const isNeeded = needed.includes(name);
      const found = await key.find();
      if (found.length === 0 && !isNeeded) continue;
      const problem = fingerprint === undefined ? undefined : problemOf(key, found, fingerprint);
      if (problem && !allowOthers) problems.push(problem);
      else if (problem) await this.#adopt(key, await key.load());
      else if (fingerprint === undefined && found[0]) await this.#adopt(key, found[0]);
    }
    if (problems.length === 0) return;
    throw new ConfigError(
      `${problems.join(' ')} Put the key back from a backup. If it is lost for good, start once with ALLOW_OTHER_KEYS=true.`,
    );
  }

  /** What is the matter with a key, also with one that is not there although the log knows one; nothing is made or told to the log. */
  async problem(name: Name): Promise<string | undefined> {
    const key = this.#keys[name];
    const known = (await this.#known()).get(key.setting)?.at(-1);
    const found = await key.find();
    return known === undefined ? undefined : problemOf(key, found, known);
  }

  /** The fingerprint of the key that the log knows, and since when (ISO 8601, UTC). */
  async since(name: Name): Promise<{ fingerprint: string; since: string } | undefined> {
    const { setting } = this.#keys[name];
    const last = (await keyEvents(this.#eventLog)).findLast(({ data }) => data.setting === setting);
    return last && { fingerprint: String(last.data.fingerprint), since: last.recordedAt };
  }

  /** The keys of each setting that came into use, the last one last. */
  async #known(): Promise<Map<string, Fingerprints>> {
    const known = new Map<string, string[]>();
    for (const { data } of await keyEvents(this.#eventLog)) {
      const setting = String(data.setting);
      known.set(setting, [...(known.get(setting) ?? []), String(data.fingerprint)]);
    }
    return known;
  }

  /** Of several processes that begin with different keys at once the later ones find the others' at their next start. */
  async #adopt({ setting }: LastingKey, bytes: Buffer): Promise<void> {
    const id = uuidv7();
    const event: NewEvent = {
      id,
      type: 'KeyAdopted',
      data: { setting, fingerprint: fingerprintOf(setting, bytes) },
      metadata: {
        workspace: INSTALLATION,
        principal: { type: 'service', id: 'keys' },
        requestId: id,
        $correlationId: id,
        schemaVersion: 1,
      },
    };
    await this.#eventLog.append(KEY_ADOPTIONS_STREAM, event, 'any');
  }
}

/** The key of a fingerprint, put in its place where a rotation was cut off when the log knew of it. */
async function held(key: LastingKey, known: string): Promise<Buffer> {
  const found = await key.find();
  const problem = problemOf(key, found, known);
  if (problem !== undefined) {
    throw new ServiceError('internal', 'A key of the service cannot be used. Its log says which one.', {
      problem,
    });
  }
  const index = found.findIndex((bytes) => fingerprintOf(key.setting, bytes) === known);
  const bytes = found[index] as Buffer;
  if (index > 0) await key.settle(bytes);
  return bytes;
}

/** What is the matter with a key that the log knows by its fingerprint, of what was found. */
function problemOf(
  { setting, place, consequence }: LastingKey,
  found: readonly Buffer[],
  known: string,
): string | undefined {
  const own = found.map((bytes) => fingerprintOf(setting, bytes));
  const [first] = own;
  if (first === undefined) {
    return `${setting}: there is no key in ${place}, but the event log knows one (${known}). With another one, ${consequence}.`;
  }
  if (own.includes(known)) return undefined;
  return `${setting}: the key in ${place} (${first}) is not the one that the event log knows (${known}). With it, ${consequence}.`;
}

function fingerprintOf(setting: string, bytes: Buffer): string {
  const hash = createHash('sha256').update(`${setting}\n`).update(bytes);
  return hash.digest('hex').slice(0, FINGERPRINT_DIGITS);
}
