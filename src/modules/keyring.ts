import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import type { JsonObject, NewEvent, RecordedEvent } from '../domain/events/event.ts';
import { type Actor, newActorEvent } from '../domain/events/newEvent.ts';
import { INSTALLATION, KEY_ADOPTIONS_STREAM, KEY_ROTATIONS_STREAM } from '../domain/events/streams.ts';
import { ConfigError } from '../platform/config.ts';
import { ServiceError } from '../platform/errors.ts';
import { isUnavailable } from '../platform/retry.ts';
import { type Appended, appendBehind, type EventLog } from '../storage/eventLog.ts';

const PAGE = 1_000;

/**
 * Resolves with what happened to the service's keys, in log order: `KeyAdopted` for one that came into use,
 * `KeyRotated` for one that replaced another. The `data` of both has the key's `setting` and its `fingerprint`.
 * Rejects as `EventLog.readStream` does.
 */
export async function keyEvents(eventLog: Pick<EventLog, 'readStream'>): Promise<RecordedEvent[]> {
  const streams = [KEY_ADOPTIONS_STREAM, KEY_ROTATIONS_STREAM];
  const found = await Promise.all(streams.map((stream) => eventsOf(eventLog, stream)));
  return found.flat().toSorted((a, b) => a.position - b.position);
}

async function eventsOf(eventLog: Pick<EventLog, 'readStream'>, stream: string): Promise<RecordedEvent[]> {
  const events: RecordedEvent[] = [];
  while (true) {
    const page = await eventLog.readStream(stream, { from: events.length, limit: PAGE });
    events.push(...page);
    if (page.length < PAGE) return events;
  }
}

const FINGERPRINT_DIGITS = 16;

/** A key on which the content of the log depends. */
export interface ManagedKey {
  setting: string;
  /** The consequence of using another one, as the end of a sentence. */
  consequence: string;
  /** Where it is looked for: the setting, or a file. */
  place: string;
  /** Resolves with all keys that are set or present: besides the one in use, the next or the previous one. */
  find(): Promise<Buffer[]>;
  /** Resolves with the key, created when there is none. */
  load(): Promise<Buffer>;
  /** Resolves with the key that is to replace another; created, unless it has to be set. */
  next(current: Buffer): Promise<Buffer>;
  /** Puts a key returned by `next` in the key's place, once the log knows it. */
  settle(key: Buffer): Promise<void>;
  /** What is made with it after a rotation replaced it is not accepted. */
  endsForGood?: true;
}

/** Returns what is wrong with a key that the log knows by its fingerprint, given what was found. */
function problemOf(
  { setting, place, consequence }: ManagedKey,
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

/** Returns what identifies a key of a setting, and reveals nothing about it. */
function fingerprintOf(setting: string, bytes: Buffer): string {
  const hash = createHash('sha256').update(`${setting}\n`).update(bytes);
  return hash.digest('hex').slice(0, FINGERPRINT_DIGITS);
}

/** Whether a rotation replaced a key, according to the log's events about keys. */
function wasEnded({ setting }: ManagedKey, key: Buffer, events: readonly RecordedEvent[]): boolean {
  const fingerprint = fingerprintOf(setting, key);
  return events.some(
    ({ type, data }) =>
      type === 'KeyRotated' && data.setting === setting && data.previous_fingerprint === fingerprint,
  );
}

/** A key that replaced another one, by fingerprints. */
interface RotatedKey {
  before: string;
  after: string;
  /** The log knew it already, from an interrupted rotation. */
  wasKnown: boolean;
}

/** How long a key is assumed to be still in use. */
const TRUSTED_MS = 1_000;

/** Keys found to be in use. */
interface KeysInUse {
  /** The one in use, followed by those earlier ones that are still present. */
  keys: readonly Buffer[];
  /** Which key of its setting it is: 1, 2, 3 … */
  epoch: number;
}

/** Keys of a setting that the log knows, by fingerprints: the one in use last. */
type Fingerprints = readonly string[];

/**
 * The keys of an installation, by fingerprints in its log: the first key of each kind that is used is recorded in the
 * log, as is one that replaces it, and any other one is noticed. The fingerprint reveals nothing about the key, which
 * is random.
 */
export class Keyring<Name extends string> {
  readonly #eventLog: EventLog;
  readonly #keys: Record<Name, ManagedKey>;
  /** Keys found to be in use, and when, on the monotonic clock. */
  readonly #trusted = new Map<Name, KeysInUse & { at: number }>();

  constructor(eventLog: EventLog, keys: Record<Name, ManagedKey>) {
    this.#eventLog = eventLog;
    this.#keys = keys;
  }

  /** Resolves with the key, as `current` does, where there is one; undefined otherwise. */
  async find(name: Name): Promise<Buffer | undefined> {
    const found = await this.#keys[name].find();
    return found.length > 0 ? this.current(name) : undefined;
  }

  /**
   * Resolves with the key in use, as `current` does; a key that was replaced is still returned for up to a second.
   */
  async load(name: Name): Promise<Buffer> {
    return firstOf((await this.#recent(name)).keys);
  }

  /** Resolves with the key in use now, created and recorded in the log when there was none. Rejects as `all`. */
  async current(name: Name): Promise<Buffer> {
    return firstOf((await this.#now(name)).keys);
  }

  /**
   * Resolves with the key in use, followed by those earlier ones that are still present, for what was made with them;
   * as they were up to a second ago, or as they are now (`isNow`). Rejects with `internal`, whose `problem` says
   * which setting is wrong, when the one that the log knows is gone, or another one is in its place.
   */
  async all(name: Name, isNow = false): Promise<readonly Buffer[]> {
    return (await (isNow ? this.#now(name) : this.#recent(name))).keys;
  }

  /** As `load`, with which key of its setting it is: 1, 2, 3 … */
  async loadEpoch(name: Name): Promise<{ key: Buffer; epoch: number }> {
    const { keys, epoch } = await this.#recent(name);
    return { key: firstOf(keys), epoch };
  }

  async #recent(name: Name): Promise<KeysInUse> {
    const trusted = this.#trusted.get(name);
    if (trusted && performance.now() - trusted.at < TRUSTED_MS) return trusted;
    try {
      return await this.#now(name);
    } catch (error) {
      // What cannot be checked now has most likely not changed.
      if (trusted && isUnavailable(error)) return trusted;
      throw error;
    }
  }

  async #now(name: Name): Promise<KeysInUse> {
    const key = this.#keys[name];
    const events = await keyEvents(this.#eventLog);
    const known = fingerprintsIn(events).get(key.setting) ?? [];
    const trusted = this.#trusted.get(name)?.keys;
    const isSame = trusted !== undefined && fingerprintOf(key.setting, firstOf(trusted)) === known.at(-1);
    const keys = isSame ? trusted : await this.#open(key, known, lastAdoption(events));
    if (keys === undefined) return this.#now(name);
    // Of several processes of an earlier version that began at once, each may have recorded the first key in the log.
    const changes = known.filter((fingerprint, index) => fingerprint !== known[index - 1]).length;
    const inUse = { keys, epoch: Math.max(1, changes), at: performance.now() };
    this.#trusted.set(name, inUse);
    return inUse;
  }

  /** Undefined when another process adopted a key at the same time. */
  async #open(key: ManagedKey, known: Fingerprints, last: number): Promise<readonly Buffer[] | undefined> {
    if (known.length > 0) return presentKeys(key, known);
    const bytes = await key.load();
    return (await this.#adopt(key, bytes, last)) && [bytes];
  }

  /** Completes an interrupted rotation; undefined where there was none. Rejects as `all`. */
  async finish(name: Name): Promise<RotatedKey | undefined> {
    const key = this.#keys[name];
    const [first] = await key.find();
    const current = await this.current(name);
    if (first === undefined || first.equals(current)) return undefined;
    const [before, after] = [fingerprintOf(key.setting, first), fingerprintOf(key.setting, current)];
    return { before, after, wasKnown: true };
  }

  /**
   * Replaces the key in use with another one. What is recorded in the log besides the fingerprints comes from
   * `describe`. An interrupted rotation is completed. Rejects as `current` and `ManagedKey.next`.
   */
  async rotate(
    name: Name,
    actor: Actor,
    describe: (current: Buffer, next: Buffer) => Promise<JsonObject> = async () => ({}),
  ): Promise<RotatedKey> {
    const key = this.#keys[name];
    const last = (await keyEvents(this.#eventLog)).findLast(({ stream }) => stream === KEY_ROTATIONS_STREAM);
    const finished = await this.finish(name);
    if (finished) return finished;
    const current = await this.current(name);
    const before = fingerprintOf(key.setting, current);
    const next = await key.next(current);
    const after = fingerprintOf(key.setting, next);
    if ((await this.#known()).get(key.setting)?.includes(after))
      throw new ServiceError(
        'conflict',
        `${key.setting}: the next key was already in use before. Use another one.`,
      );
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
   * Lets a service start only with the keys that the log knows; `needed` are those that must then be present. Keys
   * that it does not know yet are recorded in it. With `allowOthers`, those that are present replace the known ones.
   * Rejects with `ConfigError`.
   */
  async require(needed: readonly Name[], allowOthers: boolean): Promise<void> {
    const events = await keyEvents(this.#eventLog);
    const known = fingerprintsIn(events);
    let last = lastAdoption(events);
    const problems: string[] = [];
    for (const [name, key] of Object.entries(this.#keys) as [Name, ManagedKey][]) {
      const fingerprint = known.get(key.setting)?.at(-1);
      const isNeeded = needed.includes(name);
      const found = await key.find();
      if (found.length === 0 && !isNeeded) continue;
      const problem = fingerprint === undefined ? undefined : problemOf(key, found, fingerprint);
      if (problem && !allowOthers) problems.push(problem);
      if (problem ? !allowOthers : fingerprint !== undefined) continue;
      const bytes = problem ? await loadReplacement(key, events) : found[0];
      const adopted = bytes && (await this.#adopt(key, bytes, last));
      // Another process adopted a key at the same time.
      if (bytes && adopted === undefined) return this.require(needed, allowOthers);
      last = adopted?.revision ?? last;
    }
    if (problems.length === 0) return;
    throw new ConfigError(
      `${problems.join(' ')} Restore the key from a backup. If it is lost permanently, start once with ALLOW_OTHER_KEYS=true.`,
    );
  }

  /**
   * Resolves with what is wrong with a key, also with one that is missing although the log knows one; nothing is
   * created or recorded in the log.
   */
  async problem(name: Name): Promise<string | undefined> {
    const key = this.#keys[name];
    const known = (await this.#known()).get(key.setting)?.at(-1);
    const found = await key.find();
    return known === undefined ? undefined : problemOf(key, found, known);
  }

  /**
   * Resolves with the fingerprint of the key that the log knows, since when (ISO 8601, UTC), and whether it replaced
   * another one.
   */
  async since(name: Name): Promise<{ fingerprint: string; since: string; isRotated: boolean } | undefined> {
    const { setting } = this.#keys[name];
    const last = (await keyEvents(this.#eventLog)).findLast(({ data }) => data.setting === setting);
    if (last === undefined) return undefined;
    const isRotated = last.type === 'KeyRotated';
    return { fingerprint: String(last.data.fingerprint), since: last.recordedAt, isRotated };
  }

  /** Resolves with the keys of each setting that came into use, the last one last. */
  async #known(): Promise<Map<string, Fingerprints>> {
    return fingerprintsIn(await keyEvents(this.#eventLog));
  }

  /**
   * Records a key in the log, behind the adoption that was seen last. Undefined, with nothing recorded, when there are later ones.
   */
  #adopt({ setting }: ManagedKey, bytes: Buffer, last: number): Promise<Appended | undefined> {
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
    return appendBehind(this.#eventLog, KEY_ADOPTIONS_STREAM, event, last);
  }
}

function fingerprintsIn(events: readonly RecordedEvent[]): Map<string, Fingerprints> {
  const known = new Map<string, string[]>();
  for (const { data } of events) {
    const setting = String(data.setting);
    known.set(setting, [...(known.get(setting) ?? []), String(data.fingerprint)]);
  }
  return known;
}

/** Returns the revision of the last adoption; -1 when there is none. */
function lastAdoption(events: readonly RecordedEvent[]): number {
  return events.findLast(({ stream }) => stream === KEY_ADOPTIONS_STREAM)?.revision ?? -1;
}

/**
 * Resolves with the present key, created when there is none, which takes the place of the one that the log knows. Rejects with
 * `ConfigError` when a rotation replaced it.
 */
async function loadReplacement(key: ManagedKey, events: readonly RecordedEvent[]): Promise<Buffer> {
  const bytes = await key.load();
  if (key.endsForGood && wasEnded(key, bytes, events)) {
    throw new ConfigError(
      `${key.setting}: the key in ${key.place} was replaced by a rotation, and nothing that it signs after that is accepted. Put a new one in its place.`,
    );
  }
  return bytes;
}

/**
 * Resolves with the keys that are known, the one in use first; that key is put in its place where a rotation was
 * interrupted when the log already knew it.
 */
async function presentKeys(key: ManagedKey, known: Fingerprints): Promise<readonly Buffer[]> {
  const found = await key.find();
  const inUse = known.at(-1) as string;
  const problem = problemOf(key, found, inUse);
  if (problem !== undefined) {
    throw new ServiceError('internal', 'A key of the service cannot be used. Its log says which one.', {
      problem,
    });
  }
  const print = (bytes: Buffer) => fingerprintOf(key.setting, bytes);
  const index = found.findIndex((bytes) => print(bytes) === inUse);
  const [current] = found.splice(index, 1) as [Buffer];
  if (index > 0) await key.settle(current);
  return [current, ...found.filter((bytes) => known.includes(print(bytes)) && print(bytes) !== inUse)];
}

function firstOf(keys: readonly Buffer[]): Buffer {
  return keys[0] as Buffer;
}
