import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { type Principal, principalTypes } from '../domain/events/event.ts';
import { describeError, ServiceError } from '../platform/errors.ts';
import type { SharedSemaphore } from '../platform/threads/semaphore.ts';
import type { StateRow, StateStore, StateTable } from '../storage/stateStore.ts';

/** A workspace's run that this process has taken on. */
class JobLease<Body extends Job> {
  readonly #stateStore: StateStore;
  readonly #table: StateTable<Body>;
  readonly #workspace: string;
  #revision: number | undefined;
  #saved: Promise<boolean> = Promise.resolve(true);
  readonly body: Body;

  /** `revision`: that of the previous run's row, if there was one. */
  constructor(
    { stateStore, table }: { stateStore: StateStore; table: StateTable<Body> },
    workspace: string,
    body: Body,
    revision: number | undefined,
  ) {
    this.#stateStore = stateStore;
    this.#table = table;
    this.#workspace = workspace;
    this.body = body;
    this.#revision = revision;
  }

  reached(changes: Partial<Body>): void {
    Object.assign(this.body, changes);
  }

  end(ended: Partial<Body>): void {
    Object.assign(this.body, ended, { ended_at: new Date().toISOString() });
  }

  /** Reports its state to all processes; resolves with false when another one has the turn. */
  save(): Promise<boolean> {
    // Each write builds upon the one before.
    this.#saved = this.#saved.then(
      () => this.#save(),
      () => this.#save(),
    );
    return this.#saved;
  }

  async #save(): Promise<boolean> {
    const id = this.#workspace;
    const revision = (this.#revision ?? 0) + 1;
    const body = { ...this.body, updated_at: new Date().toISOString() };
    const row = { id, partition: id, order: 0, revision, body };
    if (await this.#stateStore.swap(this.#table, row, this.#revision)) {
      this.#revision = revision;
      return true;
    }
    // The response to an earlier write may have been lost, though the write was made.
    const [found] = await this.#stateStore.load(this.#table, [id]);
    if (found?.body.started_at !== this.body.started_at) return false;
    this.#revision = found.revision;
    return true;
  }
}

const HEARTBEAT_MS = 1_000;
/** A process that has given no sign of life for this long is gone. */
const SILENT_MS = 15_000;

interface JobPorts<Body extends Job> {
  stateStore: StateStore;
  /** One row per workspace. Where it is lost, so is the result of the last run. */
  table: StateTable<Body>;
  /** What it is called where a second one is refused: `verification`. */
  title: string;
  /**
   * Does the work, and resolves with its result, including the outcome; reports its progress from time to time. Where
   * the signal ends it, or it rejects, that is the outcome.
   */
  work(
    run: Readonly<Body>,
    reached: (changes: Partial<Body>) => void,
    signal: AbortSignal,
  ): Promise<Partial<Body>>;
  /** Called with the reason when one failed. */
  onFailure(error: Record<string, unknown>): void;
  /** The number that can run at once in the process. */
  places: SharedSemaphore;
}

/** What a run begins with; the rest is the same for all. */
type Begun<Body extends Job> = Omit<Body, keyof Job>;

/**
 * Long-running work requested on the dashboard: several at a time in this process, and one at a time per workspace
 * across all processes. Its progress, and the result of the last run, are kept in the state store for all processes.
 */
export class JobRunner<Body extends Job> {
  readonly #ports: JobPorts<Body>;
  readonly #stop = new AbortController();
  readonly #running = new Set<Promise<void>>();

  constructor(ports: JobPorts<Body>) {
    this.#ports = ports;
  }

  /**
   * Resolves with a workspace's last run, with its progress; undefined when there was none. Rejects with
   * `unavailable`.
   */
  async last(workspace: string): Promise<Body | undefined> {
    const body = (await this.#load(workspace))?.body;
    return body && isCutOff(body) ? { ...body, ended_at: body.updated_at, outcome: 'stopped' } : body;
  }

  /**
   * Begins a run on behalf of a principal with what `begin` makes of the last one, once `record` has recorded it in
   * the audit trail. Rejects with `conflict` while another one is under way, with what these reject with, and with
   * `unavailable`.
   */
  async start(
    workspace: string,
    askedBy: Principal,
    begin: (last: Body | undefined) => Begun<Body>,
    record: () => Promise<unknown>,
  ): Promise<void> {
    if (this.#stop.signal.aborted || !this.#ports.places.tryAcquire()) throw this.#underWay();
    const { promise: claimed, resolve: claim } = Promise.withResolvers<JobLease<Body> | undefined>();
    const running = claimed
      .then((turn) => this.#run(turn))
      .finally(() => {
        this.#running.delete(running);
      });
    this.#running.add(running);
    let turn: JobLease<Body> | undefined;
    try {
      const before = await this.#load(workspace);
      if (before && before.body.outcome === undefined && !isCutOff(before.body)) throw this.#underWay();
      const started_at = new Date().toISOString();
      const common = { asked_by: askedBy, started_at, updated_at: started_at };
      const body = { ...begin(before?.body), ...common } as unknown as Body;
      await record();
      const taken = new JobLease(this.#ports, workspace, body, before?.revision);
      if (!(await taken.save())) throw this.#underWay();
      turn = taken;
    } finally {
      claim(turn);
    }
  }

  /** Ends what is under way; its result says so. */
  async close(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }

  #underWay(): ServiceError {
    const { title } = this.#ports;
    return new ServiceError('conflict', `A ${title} is already in progress. Only one can run at a time.`);
  }

  async #load(workspace: string): Promise<StateRow<Body> | undefined> {
    const [row] = await this.#ports.stateStore.load(this.#ports.table, [workspace]);
    return row;
  }

  /** Gives the place back once the work is done; never rejects. */
  async #run(turn: JobLease<Body> | undefined): Promise<void> {
    const ended = turn && (await this.#work(turn));
    // Before its end is reported: whoever reads that may begin the next one.
    this.#ports.places.give();
    if (turn === undefined || ended === undefined) return;
    turn.end(ended);
    // A store that cannot be reached must not cost the result; a shutdown does not wait for it.
    for (;;) {
      const answered = await turn.save().then(
        () => true,
        () => false,
      );
      if (answered || this.#stop.signal.aborted) return;
      await sleep(HEARTBEAT_MS);
    }
  }

  /** Does the work of a turn, and reports its progress. */
  async #work(turn: JobLease<Body>): Promise<Partial<Body>> {
    const lost = new AbortController();
    const signal = AbortSignal.any([this.#stop.signal, lost.signal]);
    const heartbeat = setInterval(async () => {
      // A store that cannot be reached is updated the next time; another process that considered this one gone has
      // the turn.
      if ((await turn.save().catch(() => undefined)) === false) lost.abort();
    }, HEARTBEAT_MS);
    const ended = await this.#outcome(turn, signal);
    clearInterval(heartbeat);
    return ended;
  }

  async #outcome(turn: JobLease<Body>, signal: AbortSignal): Promise<Partial<Body>> {
    const endedAs = (outcome: string) => ({ outcome }) as Partial<Body>;
    try {
      return await this.#ports.work(turn.body, turn.reached.bind(turn), signal);
    } catch (error) {
      if (signal.aborted) return endedAs('stopped');
      this.#ports.onFailure(describeError(error));
      return endedAs('failed');
    }
  }
}

function isCutOff({ outcome, updated_at }: Job): boolean {
  // One that is alive would have corrected what a clock that was ahead made of it.
  return outcome === undefined && Math.abs(Date.now() - Date.parse(updated_at)) > SILENT_MS;
}

/** Who did something, as kept in state rows. */
export const principalSchema: z.ZodType<Principal> = z.object({
  type: z.enum(principalTypes),
  id: z.string(),
});

/** What is reported about all long-running work that a process does on request. */
export const runSchema = z.object({
  asked_by: principalSchema,
  /** Times are ISO 8601, UTC. */
  started_at: z.string(),
  /** The last sign of life while it runs. */
  updated_at: z.string(),
  /** Present once it has ended. */
  ended_at: z.string().optional(),
});

/** How a run ended that was not completed: the process stopped or was killed, or something went wrong. */
export const brokenOff = ['stopped', 'failed'] as const;

/** A run, as all processes see it; without an outcome it is under way. */
export type Job = z.infer<typeof runSchema> & { outcome?: string | undefined };
