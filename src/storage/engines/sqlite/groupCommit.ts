import { unavailable } from '../../../platform/errors.ts';
import { type Appended, versionConflict } from '../../eventLog.ts';
import { fileProblem } from '../shared.ts';
import type { AppendOutcome, AppendRequest, EraseRequest, WriterMessage, WriterRequest } from './protocol.ts';
import { LowConcurrencyDetector, type WriterConnection } from './writerClient.ts';

interface Waiting {
  request: AppendRequest;
  settle(outcome: AppendOutcome): void;
  fail(error: Error): void;
}

/** Requests that wait for one commit: single appends, or a group of them, or a removal; none for a proof. */
interface Batch {
  sentAt: number;
  /** Number of appends, or 1 for anything else. */
  size: number;
  /** Number of single appends; undefined for anything else. */
  singles?: number;
  settle(outcomes: AppendOutcome[]): void;
  fail(error: Error): void;
}

const proof = { settle: () => undefined, fail: () => undefined };

/** Maximum number of waiting appends: beyond it, callers are told to come back later, so that memory stays bounded. */
const MAX_WAITING = 20_000;
const MAX_BATCH = 2_000;
const COMMIT_TIMEOUT_MS = 3_000;
/** How long a commit proves that the next one works. */
const PROVEN_MS = 5_000;
/** How long after the answer to a single append more are expected. */
const RECENT_MS = 1_000;
/** Number of bytes written to prove that an append works. */
const SMALL_PROOF = 1;
const LARGE_PROOF = 256 * 1024;
/**
 * Requests come in bursts, as their predecessors were answered, and while this thread works through a burst it does not learn
 * that a commit has ended. So this many waiting appends are handed over before that, and this many batches ahead: otherwise the
 * two threads would take turns instead of working side by side.
 */
const EARLY_BATCH = 32;
const MAX_COMMITTING = 4;
/** How long the caller's thread waits for a lone append; it can serve nobody else meanwhile. */
const MAX_WAIT_MS = 2;

/**
 * Hands appends to the writer thread: those that arrive while commits run share the next one. The caller's thread never
 * touches the disk.
 */
export class GroupCommit {
  readonly #writer: WriterConnection;
  #waiting: Waiting[] = [];
  /** Batches handed to the writer, in its order. */
  #committing: Batch[] = [];
  /** Callers waiting to learn whether the file accepts commits. */
  #checks: PromiseWithResolvers<void>[] = [];
  /** When the last commit succeeded, on the monotonic clock; undefined when it failed, or there was none. */
  #committedAt: number | undefined;
  #failed = false;
  /** When single appends were last answered, on the monotonic clock. */
  #singlesAt = Number.NEGATIVE_INFINITY;
  /** Whether the writer has left callers without an answer, and still does. */
  #isStuck = false;
  #timeout: NodeJS.Timeout | undefined;
  readonly #lone = new LowConcurrencyDetector();
  /** Set while the decision how to commit what is waiting is left to the end of the turn. */
  #turnEnd: NodeJS.Immediate | undefined;
  /** Callers waiting until nothing is left to commit. */
  #drained: PromiseWithResolvers<void> | undefined;
  #closed = false;

  /** `writer`: a connection of its own to the writer of the file at `path`. */
  constructor(writer: WriterConnection, path: string) {
    this.#writer = writer;
    writer.listen({
      answer: (message) => this.#settle(message),
      end: (error) => this.#fail(unavailable('event log', error, error && fileProblem(path, error))),
    });
  }

  /** Whether the writer is gone, because of `close` or a failure: it accepts no more appends. */
  get ended(): boolean {
    return this.#closed;
  }

  append(request: AppendRequest): Promise<Appended> {
    return new Promise((resolve, fail) => {
      const settle = (outcome: AppendOutcome) => {
        if (!('conflict' in outcome)) resolve(outcome);
        else fail(versionConflict(outcome.conflict + 1));
      };
      this.#gather([{ request, settle, fail }]);
    });
  }

  /**
   * Appends a group in one commit, after earlier requests; a small one shares it with others. Outcomes are in the group's order.
   * Rejects with `unavailable`.
   */
  appendGroup(requests: AppendRequest[]): Promise<AppendOutcome[]> {
    if (requests.length <= EARLY_BATCH) {
      const outcomes = requests.map((request) => ({ request, ...Promise.withResolvers<AppendOutcome>() }));
      this.#gather(
        outcomes.map(({ request, resolve, reject }) => ({ request, settle: resolve, fail: reject })),
      );
      return Promise.all(outcomes.map(({ promise }) => promise));
    }
    if (this.#closed || this.#isFull) return Promise.reject(unavailable('event log'));
    if (this.#waiting.length > 0) this.#commitNext();
    return new Promise((settle, fail) => this.#commit(requests, { settle, fail }));
  }

  /** As `EventLog.erase`. */
  erase(request: EraseRequest): Promise<void> {
    if (this.#closed || this.#isFull) return Promise.reject(unavailable('event log'));
    return new Promise((resolve, fail) =>
      this.#commit({ erase: request }, { settle: () => resolve(), fail }),
    );
  }

  /**
   * Resolves when the file accepts commits: a recent one succeeded, or the next one does, which is a proof if nothing is waiting.
   * Rejects with `unavailable`.
   */
  check(): Promise<void> {
    if (this.#closed) return Promise.reject(unavailable('event log'));
    if (performance.now() - (this.#committedAt ?? Number.NEGATIVE_INFINITY) < PROVEN_MS)
      return Promise.resolve();
    const check = Promise.withResolvers<void>();
    this.#checks.push(check);
    if (this.#committing.length === 0) this.#prove();
    return check.promise;
  }

  /** Waits for what was accepted, then ends the connection. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#drained ??= Promise.withResolvers();
    if (!this.#isIdle) await this.#drained.promise;
    this.#closed = true;
    this.#writer.close();
  }

  get #isIdle(): boolean {
    return this.#committing.length === 0 && this.#waiting.length === 0;
  }

  /** Whether so much waits for a disk that does not answer that no more is taken, so that memory stays bounded. */
  get #isFull(): boolean {
    return this.#isStuck && this.#committing.reduce((sum, { size }) => sum + size, 0) >= MAX_WAITING;
  }

  /** Whether single appends are waiting or were answered lately: more of them are then likely to come. */
  get hasRecentSingles(): boolean {
    const isRecent = performance.now() - this.#singlesAt < RECENT_MS;
    return isRecent || this.#hasSingles || this.#waiting.length > 0;
  }

  /** Whether single appends are under way: new ones then wait for the next commit of such, unless they are many. */
  get #hasSingles(): boolean {
    return this.#committing.some(({ singles }) => singles !== undefined);
  }

  /** Only when all requests of a turn have arrived is it known that an append is alone. */
  #commitTurn(): void {
    this.#turnEnd = undefined;
    if (this.#committing.length > 0 || this.#waiting.length === 0) return;
    const isAlone = this.#waiting.length === 1;
    this.#commitNext();
    if (isAlone) this.#writer.awaitAnswer(MAX_WAIT_MS);
  }

  /** Lets appends share the next commit, or begins it. */
  #gather(appends: readonly Waiting[]): void {
    if (this.#closed || this.#waiting.length >= MAX_WAITING) {
      for (const { fail } of appends) fail(unavailable('event log'));
      return;
    }
    this.#waiting.push(...appends);
    const { length } = this.#committing;
    if (length === 0 && this.#lone.isLikely) this.#turnEnd ??= setImmediate(() => this.#commitTurn());
    else if (!this.#hasSingles || (length < MAX_COMMITTING && this.#waiting.length >= EARLY_BATCH))
      this.#commitNext();
  }

  #commitNext(): void {
    const appends = this.#waiting.splice(0, MAX_BATCH);
    this.#commit(
      appends.map(({ request }) => request),
      {
        singles: appends.length,
        settle: (outcomes) => {
          for (const [index, { settle }] of appends.entries()) settle(outcomes[index] as AppendOutcome);
        },
        fail: (error) => {
          for (const { fail } of appends) fail(error);
        },
      },
    );
  }

  /** After a failure it takes more: where a few pages still fit, an append may not. */
  #prove(): void {
    this.#commit({ prove: this.#failed ? LARGE_PROOF : SMALL_PROOF }, proof);
  }

  #commit(request: WriterRequest, batch: Omit<Batch, 'sentAt' | 'size'>): void {
    const size = Array.isArray(request) ? request.length : 1;
    this.#committing.push({ sentAt: performance.now(), size, ...batch });
    this.#writer.send(request);
    this.#timeout ??= setTimeout(() => this.#giveUp(), COMMIT_TIMEOUT_MS);
  }

  #settle(message: WriterMessage): void {
    this.#isStuck = false;
    const batch = this.#committing.shift() ?? { sentAt: 0, size: 0, ...proof };
    if (batch.singles !== undefined) this.#singlesAt = performance.now();
    this.#lone.committed(performance.now() - batch.sentAt, batch.singles === 1 && this.#isIdle);
    if (this.#isIdle) this.#drained?.resolve();
    if (this.#committing.length === 0) {
      clearTimeout(this.#timeout);
      this.#timeout = undefined;
    } else {
      this.#timeout?.refresh();
    }
    if (this.#waiting.length > 0 && !this.#hasSingles) this.#commitNext();
    if (message.kind === 'refused') {
      batch.fail(new Error(message.reason));
      if (this.#checks.length > 0 && this.#committing.length === 0) this.#prove();
    } else if (message.kind === 'failed') {
      const cause = Object.assign(new Error('commit failed'), { code: message.code });
      const error = unavailable('event log', cause, message.problem);
      this.#committedAt = undefined;
      this.#failed = true;
      batch.fail(error);
      for (const { reject } of this.#checks.splice(0)) reject(error);
    } else {
      this.#committedAt = performance.now();
      this.#failed = false;
      for (const { resolve } of this.#checks.splice(0)) resolve();
      batch.settle(message.outcomes);
    }
  }

  /** The disk is stuck: callers get an answer, and the order of batches is kept for when it recovers. */
  #giveUp(): void {
    this.#isStuck = true;
    this.#rejectAll(
      unavailable(
        'event log',
        undefined,
        'The disk of the event log does not answer: a commit takes more than three seconds.',
      ),
    );
    this.#timeout?.refresh();
  }

  #fail(error: Error): void {
    this.#closed = true;
    clearTimeout(this.#timeout);
    this.#rejectAll(error);
    this.#committing = [];
    this.#drained?.resolve();
  }

  #rejectAll(error: Error): void {
    this.#committedAt = undefined;
    for (const { fail } of [...this.#committing, ...this.#waiting.splice(0)]) fail(error);
    for (const { reject } of this.#checks.splice(0)) reject(error);
  }
}
