import { createHash } from 'node:crypto';
import { v7 as uuidv7 } from 'uuid';
import { ConfigError } from '../config.ts';
import { ServiceError } from '../errors.ts';
import type { NewEvent } from '../events/event.ts';
import type { EventLog } from '../ports/eventLog.ts';

/** A key that what the log holds depends on. */
export interface LastingKey {
  setting: string;
  /** What comes of another one, as the end of a sentence. */
  consequence: string;
  /** Where it is looked for: the setting, or a file. */
  place: string;
  /** The key; undefined when it is neither set nor there. */
  find(): Promise<Buffer | undefined>;
  /** The key, made when it is not there. */
  load(): Promise<Buffer>;
}

/** Bookkeeping of the service, in a stream of its own: an event of the type `KeyAdopted` for each key that came into use. */
const STREAM = 'service-keys';
/** Every workspace, and none of them. */
const INSTALLATION = '*';
const MOST_EVENTS = 1_000;
const FINGERPRINT_DIGITS = 16;

/**
 * The keys of an installation, by fingerprints in its log: the first key of each kind that is used is told to the log, and
 * another one is noticed. The fingerprint says nothing of the key, which is random.
 */
export class KnownKeys<Name extends string> {
  readonly #eventLog: EventLog;
  readonly #keys: Record<Name, LastingKey>;
  /** Keys that were found to be the log's. */
  readonly #settled = new Map<Name, Buffer>();

  constructor(eventLog: EventLog, keys: Record<Name, LastingKey>) {
    this.#eventLog = eventLog;
    this.#keys = keys;
  }

  /** The key, as `load` gives it, where it is there; undefined otherwise. */
  async find(name: Name): Promise<Buffer | undefined> {
    const isThere = this.#settled.has(name) || (await this.#keys[name].find()) !== undefined;
    return isThere ? this.load(name) : undefined;
  }

  /**
   * The key, made and told to the log when there was none. Rejects with `internal`, whose `problem` says which setting is
   * wrong, when it is not the one that the log knows, or that one is gone.
   */
  async load(name: Name): Promise<Buffer> {
    const settled = this.#settled.get(name);
    if (settled) return settled;
    const key = this.#keys[name];
    const known = (await this.#known()).get(key.setting);
    const problem = known === undefined ? undefined : problemOf(key, await key.find(), known);
    if (problem !== undefined) {
      throw new ServiceError('internal', 'A key of the service cannot be used. Its log says which one.', {
        problem,
      });
    }
    const bytes = await key.load();
    if (known === undefined) await this.#adopt(key, bytes);
    this.#settled.set(name, bytes);
    return bytes;
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
      const fingerprint = known.get(key.setting);
      const isNeeded = needed.includes(name);
      const bytes = allowOthers && fingerprint && isNeeded ? await key.load() : await key.find();
      if (bytes === undefined && !isNeeded) continue;
      const problem = fingerprint === undefined ? undefined : problemOf(key, bytes, fingerprint);
      if (problem && !allowOthers) problems.push(problem);
      else if (bytes && (problem || fingerprint === undefined)) await this.#adopt(key, bytes);
    }
    if (problems.length === 0) return;
    throw new ConfigError(
      `${problems.join(' ')} Put the key back from a backup. If it is lost for good, start once with ALLOW_OTHER_KEYS=true.`,
    );
  }

  /** What is the matter with a key, also with one that is not there although the log knows one; nothing is made or told to the log. */
  async problem(name: Name): Promise<string | undefined> {
    const key = this.#keys[name];
    const known = (await this.#known()).get(key.setting);
    const bytes = await key.find();
    return known === undefined ? undefined : problemOf(key, bytes, known);
  }

  /** The fingerprint of the key of each setting that came into use last. */
  async #known(): Promise<Map<string, string>> {
    const events = await this.#eventLog.readStream(STREAM, { limit: MOST_EVENTS });
    return new Map(events.map(({ data }) => [String(data.setting), String(data.fingerprint)]));
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
    await this.#eventLog.append(STREAM, event, 'any');
  }
}

/** What is the matter with a key that the log knows by its fingerprint. */
function problemOf(
  { setting, place, consequence }: LastingKey,
  bytes: Buffer | undefined,
  known: string,
): string | undefined {
  if (bytes === undefined) {
    return `${setting}: there is no key in ${place}, but the event log knows one (${known}). With another one, ${consequence}.`;
  }
  const own = fingerprintOf(setting, bytes);
  if (own === known) return undefined;
  return `${setting}: the key in ${place} (${own}) is not the one that the event log knows (${known}). With it, ${consequence}.`;
}

function fingerprintOf(setting: string, bytes: Buffer): string {
  const hash = createHash('sha256').update(`${setting}\n`).update(bytes);
  return hash.digest('hex').slice(0, FINGERPRINT_DIGITS);
}
