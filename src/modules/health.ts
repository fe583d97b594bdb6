import type { Logger } from 'pino';
import { describeError, ServiceError } from '../platform/errors.ts';
import type { Role } from '../platform/settings.ts';
import type { DocumentStore } from '../storage/documentStore.ts';
import type { EventLog } from '../storage/eventLog.ts';
import { type Clock, SteadyClock, systemClock } from '../storage/rateLimiters.ts';
import type { ReadModels } from '../storage/readModels.ts';
import type { StateStore } from '../storage/stateStore.ts';
import { type ReadModelLag, readModelLag } from './records/queries/records.ts';

/** Tolerance for clock differences between machines and for the time an answer takes. */
const TOLERATED_MS = 60_000;

/** Of this process: whether the machine's clock was set since the start. */
const steady = new SteadyClock();

/**
 * Returns a finding when this machine's clock was set by more than a minute since the process started, and when the log's last event
 * claims to be from the future: this machine's clock, or the one with which the log is, or was, written, is wrong; undefined
 * otherwise. Rejects with `unavailable`.
 */
export async function clockProblem(eventLog: EventLog, clock: Clock): Promise<Finding | undefined> {
  const step = Math.round(steady.stepMs() / 1000);
  if (step !== 0) return { code: 'clock_stepped', message: steppedText(step, eventLog) };
  const recordedAt = await eventLog.lastRecordedAt();
  const now = clock.now();
  if (recordedAt === undefined || Date.parse(recordedAt) - now <= TOLERATED_MS) return undefined;
  const seconds = Math.round((Date.parse(recordedAt) - now) / 1000);
  const otherwise = eventLog.linkWriter
    ? 'If it is right, that event was recorded under a wrong clock: its time cannot be repaired. The events after it have their own times; ' +
      'versions and their order remain correct, and no version counts as older than the one before it.'
    : "If it is right, correct the clocks of the event log's nodes.";
  return {
    code: 'clock_behind_log',
    message:
      `The last event was recorded at ${recordedAt}, ${seconds} seconds ahead of this machine's clock ` +
      `(${new Date(now).toISOString()}). If this clock is wrong, correct it, preferably with NTP. ${otherwise}`,
  };
}

function steppedText(seconds: number, eventLog: EventLog): string {
  const direction = seconds > 0 ? 'forward' : 'back';
  const what = eventLog.linkWriter ? 'Events are recorded with the time as it was before, going on. ' : '';
  return (
    `This machine's clock was set ${direction} by ${Math.abs(seconds)} seconds while the service was running. ${what}` +
    'If the clock is right now, restart the service; if not, correct it, preferably with NTP.'
  );
}

/** How often to warn while the problem lasts. */
const WARN_INTERVAL_MS = 600_000;

/** Warns operators, at the start and while it lasts, that the log is ahead of the clock. */
export class ClockWatch {
  readonly #timer: NodeJS.Timeout;

  constructor(eventLog: EventLog, logger: Logger) {
    const look = async () => {
      // An unavailable log is reported elsewhere.
      const finding = await clockProblem(eventLog, systemClock).catch(() => undefined);
      if (finding) logger.warn({ code: finding.code }, finding.message);
    };
    void look();
    this.#timer = setInterval(look, WARN_INTERVAL_MS);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}

/** How often it checks on its own. */
const CHECK_INTERVAL_MS = 10_000;
/** How long a result is reused for callers. */
const LAG_FRESH_MS = 1_000;
/** How far read models may be behind: because the projector is busy, or another instance is taking over. */
const TOLERATED_SECONDS = 60;
const STANDSTILL_MS = 60_000;

/** Monitors how far the read models are behind the log, and whether they are making progress. */
export class ReadModelWatch {
  readonly #look: () => Promise<ReadModelLag[]>;
  readonly #clock: Clock;
  readonly #timer: NodeJS.Timeout;
  /** Where each was seen, and since when, on the monotonic clock. */
  readonly #seen = new Map<string, { position: number; since: number }>();
  #last: { lags: Promise<ReadModelLag[]>; at: number } | undefined;

  constructor(eventLog: EventLog, readModels: ReadModels, clock: Clock) {
    this.#clock = clock;
    this.#look = () => readModelLag(eventLog, readModels, clock.now());
    this.#timer = setInterval(() => this.lags().catch(() => undefined), CHECK_INTERVAL_MS);
  }

  /** Returns how far they are behind, as of at most a second ago. Rejects with `unavailable`. */
  lags(): Promise<ReadModelLag[]> {
    const now = this.#clock.elapsed();
    if (this.#last === undefined || now - this.#last.at > LAG_FRESH_MS) {
      const lags = this.#look().then((found) => this.#note(found));
      this.#last = { lags, at: now };
    }
    return this.#last.lags;
  }

  /** Whether some are behind and have not advanced for a while, although they could be checked. */
  get standStill(): boolean {
    const now = this.#clock.elapsed();
    return [...this.#seen.values()].some(({ since }) => now - since >= STANDSTILL_MS);
  }

  /** Returns the findings for those that are far behind. Rejects with `unavailable`. */
  async findings(): Promise<Finding[]> {
    const behind = (await this.lags()).filter(({ seconds = 0 }) => seconds > TOLERATED_SECONDS);
    if (behind.length === 0) return [];
    const names = behind.map(({ model, seconds = 0 }) => `${model} by ${Math.round(seconds)} s`).join(', ');
    const how = this.standStill
      ? 'Some make no progress: check that a process with the role projector is running, and check its log.'
      : 'They are making progress; after a rebuild, an upgrade or an import, this takes a while.';
    return [
      { code: 'read_models_behind', message: `Read models are behind the event log: ${names}. ${how}` },
    ];
  }

  close(): void {
    clearInterval(this.#timer);
  }

  #note(lags: ReadModelLag[]): ReadModelLag[] {
    const now = this.#clock.elapsed();
    for (const { model, position, behind } of lags) {
      const seen = this.#seen.get(model);
      if (behind === 0) this.#seen.delete(model);
      else if (seen?.position !== position) this.#seen.set(model, { position, since: now });
    }
    return lags;
  }
}

interface WatchedStores {
  eventLog: EventLog;
  readModels: ReadModels;
  stateStore: StateStore;
  documentStore: DocumentStore;
}

type StoreState = 'ok' | 'unavailable';

/** The stores, in the order in which they are reported. */
const storeNames = ['event_log', 'read_models', 'state_store', 'document_store'] as const;

type StoreName = (typeof storeNames)[number];

type StoreStates = Record<StoreName, StoreState>;

/** How long a result is reused for callers. */
const STORES_FRESH_MS = 500;

/**
 * Monitors the stores. A store that becomes unavailable, for a reason not reported yet, is logged as an error with what operators
 * can do; its recovery is logged, too.
 */
export class StoreWatch {
  readonly #checks: Record<StoreName, () => Promise<unknown>>;
  readonly #logger: Logger;
  readonly #timer: NodeJS.Timeout;
  /** What was reported of the unavailable stores. */
  readonly #reported = new Map<StoreName, string>();
  #last: { states: Promise<StoreStates>; at: number } | undefined;

  constructor({ eventLog, readModels, stateStore, documentStore }: WatchedStores, logger: Logger) {
    this.#checks = {
      event_log: () => eventLog.check(),
      read_models: () => readModels.checkpoint('ready'),
      state_store: () => stateStore.check(),
      document_store: () => documentStore.check(),
    };
    this.#logger = logger;
    this.#timer = setInterval(() => this.states(), CHECK_INTERVAL_MS);
  }

  /** Returns the states of the stores, as of at most half a second ago. Never rejects. */
  states(): Promise<StoreStates> {
    const now = performance.now();
    if (this.#last === undefined || now - this.#last.at > STORES_FRESH_MS) {
      const states = this.#checkAll().finally(() => {
        if (this.#last) this.#last.at = performance.now();
      });
      this.#last = { states, at: Number.POSITIVE_INFINITY };
    }
    return this.#last.states;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #checkAll(): Promise<StoreStates> {
    const states = await Promise.all(storeNames.map(async (store) => [store, await this.#stateOf(store)]));
    return Object.fromEntries(states);
  }

  async #stateOf(store: StoreName): Promise<StoreState> {
    try {
      await this.#checks[store]();
    } catch (error) {
      this.#report(store, error);
      return 'unavailable';
    }
    if (this.#reported.delete(store)) this.#logger.info({ store }, 'a store is available again');
    return 'ok';
  }

  #report(store: StoreName, error: unknown): void {
    const reported = this.#reported.get(store);
    const known = error instanceof ServiceError ? error.problem : undefined;
    const problem = known ?? reported ?? 'It does not answer.';
    if (problem === reported) return;
    this.#reported.set(store, problem);
    this.#logger.error({ store, problem, error: describeError(error) }, 'a store is unavailable');
  }
}

/** Something that operators should attend to, although the service continues. */
export interface Finding {
  /** Identifies the finding, for programs: `clock_behind_log`, `clock_stepped`. */
  code: string;
  /** One line: what is wrong, and what to do. Contains no PHI. */
  message: string;
}

/** The stores that a role cannot do without. Without the others, the rest of its work continues. */
const needs: Record<Role, readonly StoreName[]> = {
  api: ['event_log'],
  projector: ['event_log', 'read_models'],
  webhooks: ['event_log', 'state_store'],
  heads: ['event_log', 'read_models', 'state_store'],
  warehouse: ['event_log', 'state_store'],
  mllp: ['event_log', 'state_store', 'document_store'],
};

/** The state of a process. */
export interface ProcessState {
  stores: StoreStates;
  /** Roles whose own thread reports that it is not making progress. */
  failingRoles: ReadonlySet<Role>;
  /** What operators should attend to in the process's work other than requests. */
  findings: Finding[];
}

/** What a process knows about itself. */
export interface ProcessHealth {
  roles: readonly Role[];
  /** Never rejects. */
  processState(): Promise<ProcessState>;
}

/** Whether a process can do its work. */
export interface Readiness {
  /** For `api` in a process that has that role, as requests are routed by it; otherwise for all its roles together. */
  ready: boolean;
  stores: StoreStates;
  /** What each of its roles can do. */
  roles: Partial<Record<Role, 'ready' | 'unavailable'>>;
  /** Stores that are unavailable while it is ready. */
  degraded: StoreName[];
  findings: Finding[];
}

/** Returns whether a process can do its work, given the current state of its stores. */
export async function readiness({ roles, processState }: ProcessHealth): Promise<Readiness> {
  const { stores, failingRoles, findings } = await processState();
  const can = (role: Role) => !failingRoles.has(role) && needs[role].every((store) => stores[store] === 'ok');
  const deciding = roles.includes('api') ? (['api'] as const) : roles;
  const ready = deciding.every(can);
  return {
    ready,
    stores,
    roles: Object.fromEntries(roles.map((role) => [role, can(role) ? 'ready' : 'unavailable'])),
    degraded: ready ? storeNames.filter((store) => stores[store] !== 'ok') : [],
    findings,
  };
}
