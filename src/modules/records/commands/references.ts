import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { bodyOf } from '../../../../projections/projection.ts';
import { recordsModel } from '../../../../projections/records.ts';
import type { Position } from '../../../domain/events/event.ts';
import type { Caller } from '../../../domain/events/newEvent.ts';
import { erasureStep } from '../../../domain/events/payloads.ts';
import { recordStream } from '../../../domain/events/streams.ts';
import { catalogEntry } from '../../../domain/records/catalog.ts';
import type { WriteBase } from '../../../domain/records/fold.ts';
import type { CatalogEntry, RecordFields } from '../../../domain/records/schema/kind.ts';
import { ServiceError, unavailable } from '../../../platform/errors.ts';
import { isUnavailable } from '../../../platform/retry.ts';
import { FairBudget, WORKSPACE_AND_KEY } from '../../../platform/threads/fairBudget.ts';
import type { EventLog } from '../../../storage/eventLog.ts';
import type { ReadModels } from '../../../storage/readModels.ts';

/** Of 100,000 entries; `max` would reserve the memory of all at the start. */
const grows = { maxSize: 100_000, sizeCalculation: () => 1 };
/** Of the records as this process left them, in characters. */
const MOST_LEFT = 8 * 1024 * 1024;
/** How often erasures are polled: following the whole log would slow down every request. */
const POLL_MS = 200;

/**
 * Tells whether records exist. A positive answer is remembered until the record is erased, which is noticed within a second
 * wherever it happened. The read model may lag or be unreachable: for a record that it does not have, or that it may have only
 * because it lacks the erasure, the record's stream is read instead.
 */
export class RecordExistence {
  readonly #eventLog: EventLog;
  readonly #readModels: ReadModels;
  /** Number of erasures noticed. */
  #erasures = 0;
  readonly #known = new LRUCache<string, true>(grows);
  /** Records as this process left them. */
  readonly #left = new LRUCache<string, WriteBase>({
    maxSize: MOST_LEFT,
    sizeCalculation: ({ fields }) => JSON.stringify(fields).length,
  });
  /** Records whose erasure was noticed, which the read model may lack. */
  readonly #erased = new LRUCache<string, true>(grows);
  /** The end of the log when erasures began to be noticed; undefined once the read model has all that were before. */
  #unnoticed: Position | undefined;
  /** Callers waiting for a record, by stream. */
  readonly #awaited = new Map<string, Set<() => void>>();

  constructor(eventLog: EventLog, readModels: ReadModels) {
    this.#eventLog = eventLog;
    this.#readModels = readModels;
  }

  /**
   * Forgets records erased from now on, until the signal; while the event log is unreachable, forgets nothing. Rejects with
   * `unavailable`.
   */
  async followErasures(signal: AbortSignal): Promise<void> {
    let { place } = await this.#eventLog.removals();
    this.#unnoticed = await this.#eventLog.head();
    const follow = async () => {
      for (;;) {
        await sleep(POLL_MS, undefined, { signal });
        const removals = await this.#eventLog.removals(place).catch(() => undefined);
        for (const stream of removals?.streams ?? []) this.forget(stream);
        place = removals?.place ?? place;
      }
    };
    follow().catch(() => undefined);
  }

  /** Whether a record is known to exist, without any lookup. */
  isKnown(stream: string): boolean {
    return this.#known.has(stream);
  }

  /** Returns what a record was after the last write of this process; undefined where that is not known. Others may have written since. */
  leftAs(stream: string): WriteBase | undefined {
    return this.#left.get(stream);
  }

  /** Notes that a record exists, as known by its writer, and what it is after a write, if that is known. */
  remember(stream: string, after?: WriteBase): void {
    this.#known.set(stream, true);
    if (after) this.#left.set(stream, after);
    else this.#left.delete(stream);
    for (const wake of this.#awaited.get(stream) ?? []) wake();
  }

  /**
   * Resolves when this process learns that one of these records exists, after `ms` milliseconds at the latest, or at the signal.
   */
  async remembered(streams: Iterable<string>, ms: number, signal: AbortSignal): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = () => resolve();
    const all = [...streams];
    for (const stream of all) this.#awaited.set(stream, (this.#awaited.get(stream) ?? new Set()).add(wake));
    const timer = setTimeout(wake, ms);
    signal.addEventListener('abort', wake);
    await promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', wake);
    for (const stream of all) {
      const waiting = this.#awaited.get(stream);
      waiting?.delete(wake);
      if (waiting?.size === 0) this.#awaited.delete(stream);
    }
  }

  /** Notes that a record was erased. */
  forget(stream: string): void {
    this.#erasures += 1;
    this.#known.delete(stream);
    this.#left.delete(stream);
    this.#erased.set(stream, true);
  }

  /** Returns which of these streams do not exist. Rejects with `unavailable` when the log cannot be read. */
  async missing(streams: string[]): Promise<Set<string>> {
    const unknown = streams.filter((stream) => !this.#known.has(stream));
    if (unknown.length === 0) return new Set();
    const erasures = this.#erasures;
    const projected = await this.#projected(unknown.filter((stream) => !this.#erased.has(stream)));
    const missing = new Set<string>();
    await Promise.all(
      unknown.map(async (stream) => {
        const exists = projected.has(stream) || (await this.#onLog(stream));
        if (!exists) missing.add(stream);
        // Otherwise it may have been erased since the lookup.
        else if (erasures === this.#erasures) this.remember(stream);
      }),
    );
    return missing;
  }

  async #projected(streams: string[]): Promise<Set<string>> {
    try {
      if (!(await this.#hasEarlierErasures())) return new Set();
      const rows = await this.#readModels.load(recordsModel, streams);
      return new Set(rows.filter((row) => bodyOf(row)?.erased !== true).map(({ id }) => id));
    } catch (error) {
      if (isUnavailable(error)) return new Set();
      throw error;
    }
  }

  /** Whether the read model has the erasures from before they were noticed here. */
  async #hasEarlierErasures(): Promise<boolean> {
    if (this.#unnoticed === undefined) return true;
    if ((await this.#readModels.checkpoint(recordsModel)) < this.#unnoticed) return false;
    this.#unnoticed = undefined;
    return true;
  }

  async #onLog(stream: string): Promise<boolean> {
    const events = await this.#eventLog.readStream(stream, { direction: 'backwards', limit: 1 });
    return events.some((event) => erasureStep(event) !== 'done');
  }
}

/** Maximum number of requests waiting at once, each with a body of up to 1 MB. One key may have 100. */
const MAX_WAITING = 300;
/** How often to check whether another process wrote a missing record. */
const RECHECK_MS = 1_000;
const RETRY_AFTER_SECONDS = 2;

/** How long a request waits for the records that it refers to, and the signal that ends the wait early. */
export interface ReferenceWait {
  ms: number;
  signal: AbortSignal;
}

/** Who waits. */
type WaitingCaller = Pick<Caller, 'workspace' | 'principal'>;

/** Lets a limited number of requests wait for records that do not exist yet. */
export class ReferenceWaits {
  readonly #existence: RecordExistence;
  readonly #closing = new AbortController();
  readonly #waiting = new FairBudget(MAX_WAITING, WORKSPACE_AND_KEY);

  constructor(existence: RecordExistence) {
    this.#existence = existence;
  }

  /**
   * Resolves when the records of these streams exist, or the time is up. Rejects with `overloaded` when too many requests are
   * already waiting, in all or of this caller, and with `unavailable`, also when the service stops before that: what is awaited may reach another one.
   */
  async arrived(
    { workspace, principal }: WaitingCaller,
    streams: string[],
    { ms, signal }: ReferenceWait,
  ): Promise<void> {
    let missing = await this.#existence.missing(streams);
    if (missing.size === 0) return;
    const place = this.#waiting.share([workspace, principal.id]);
    if (!place.reserve(1)) throw tooManyWaiting();
    const end = AbortSignal.any([signal, this.#closing.signal, AbortSignal.timeout(ms)]);
    try {
      while (missing.size > 0 && !end.aborted) {
        await this.#existence.remembered(missing, RECHECK_MS, end);
        missing = await this.#existence.missing(streams);
      }
    } finally {
      place.release();
    }
    if (missing.size > 0 && this.#closing.signal.aborted) throw unavailable('service');
  }

  /** Ends all current and future waits. */
  close(): void {
    this.#closing.abort();
  }
}

function tooManyWaiting(): ServiceError {
  return new ServiceError(
    'overloaded',
    'Too many requests are waiting for referenced records. Try again in a moment.',
    {
      retryAfterSeconds: RETRY_AFTER_SECONDS,
    },
  );
}

/** A reference to a record, in one of a record's fields. */
export interface Reference {
  field: string;
  kind: string;
  title: string;
  id: string;
  stream: string;
}

/** Returns the references in a record's fields. */
export function referencesOf(workspace: string, entry: CatalogEntry, sent: RecordFields): Reference[] {
  const found: Reference[] = [];
  for (const { field, path, kind, title = catalogEntry(kind).title } of entry.references) {
    const [outer, inner] = path as [string, string | undefined];
    const value = sent[outer];
    const id = inner === undefined ? value : (value as Record<string, unknown> | null | undefined)?.[inner];
    if (typeof id !== 'string') continue;
    found.push({ field, kind, title, id, stream: recordStream(workspace, kind, id) });
  }
  return found;
}

/**
 * Rejects with `reference_not_found` when a record that the sent fields refer to does not exist; the error names every missing
 * kind and id (spec 4.1 rule 1, 4.5). Returns no promise when all are known to exist.
 */
export function checkReferences(
  existence: RecordExistence,
  workspace: string,
  entry: CatalogEntry,
  sent: RecordFields,
): void | Promise<void> {
  if (entry.references.length === 0) return;
  const references = referencesOf(workspace, entry, sent);
  if (references.every(({ stream }) => existence.isKnown(stream))) return;
  return requireExistence(existence, references);
}

/** Waits until the records that the sent fields refer to exist, or the time is up. Rejects as `ReferenceWaits.arrived` does. */
export function awaitReferences(
  { referenceWaits }: { referenceWaits: ReferenceWaits },
  caller: WaitingCaller,
  entry: CatalogEntry,
  sent: RecordFields,
  wait: ReferenceWait,
): Promise<void> {
  const streams = referencesOf(caller.workspace, entry, sent).map(({ stream }) => stream);
  return referenceWaits.arrived(caller, streams, wait);
}

async function requireExistence(existence: RecordExistence, references: Reference[]): Promise<void> {
  const missing = await existence.missing(references.map(({ stream }) => stream));
  const refusal = problemOf(references, missing);
  if (refusal) throw refusal;
}

/** Returns the error for a record that refers to missing ones; undefined when none are missing. */
export function problemOf(
  references: readonly Reference[],
  missing: ReadonlySet<string>,
): ServiceError | undefined {
  if (missing.size === 0) return undefined;
  const absent = references.filter(({ stream }) => missing.has(stream));
  return absent.length === 0 ? undefined : referencesNotFound(absent);
}

/** The error for a record with missing references; it names every missing kind and id. */
export function referencesNotFound(absent: Omit<Reference, 'stream'>[]): ServiceError {
  const named = new Set(absent.map(({ title, id }) => `${title} '${id}' does not exist`));
  return new ServiceError('reference_not_found', [...named].join('; '), {
    details: absent.map(({ field, kind, title, id }) => ({
      field,
      message: `refers to a ${title.toLowerCase()} that does not exist`,
      kind,
      id,
      code: 'reference_not_found',
    })),
  });
}
