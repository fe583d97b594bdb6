import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { treeModel } from '../../projections/tree.ts';
import { INSTALLATION } from '../domain/events/streams.ts';
import type { KeyDirectory } from '../modules/auth/keyDirectory.ts';
import { ErasureNotices } from '../modules/erasure/notices.ts';
import type { Finding } from '../modules/health.ts';
import { publicKeysOf, type SigningKey } from '../modules/integrity/publicKeys.ts';
import { type HeadPorts, reportHeadsStatus, sendHeads } from '../modules/integrity/treeHeads.ts';
import { untilReached } from '../modules/records/queries/paging.ts';
import { type Config, ConfigError } from '../platform/config.ts';
import { describeError, ServiceError } from '../platform/errors.ts';
import type { EventLog } from '../storage/eventLog.ts';
import { leaseOwner, runAsLeader } from '../storage/leases.ts';
import { openHeadTarget, openLeases } from './openStorage.ts';

/** The lease of the one instance that sends heads. */
export const HEADS_LEASE = 'heads';
const MINUTE_MS = 60_000;
/** How often to check for erasures to report. */
const POLL_MS = 10_000;
/** How soon to retry when something could not be sent. */
const RETRY_MS = 30_000;
/** How long a stop waits for the last heads. */
const LAST_MS = 15_000;

export interface HeadStores extends Omit<HeadPorts, 'target'> {
  eventLog: EventLog;
  directory: KeyDirectory;
  signingKey(): Promise<SigningKey>;
}

/** Pauses in milliseconds; set only by tests. */
export interface HeadPauses {
  everyMs: number;
  retryMs: number;
}

/** The role that sends heads, and notices of erasures. */
export interface HeadsRole {
  findings(): Finding[];
  /** Sends what there is to send, and ends. */
  stop(): Promise<void>;
}

/** The folder is not created: if it is missing, so perhaps is the disk that should be mounted there. */
async function requireFolder(folder: string): Promise<void> {
  try {
    // A file has no entry in it.
    await access(`${folder}/.`, constants.W_OK);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(
      `Bad settings: HEADS_TO must be a folder that exists and can be written: ${folder} (${code})`,
    );
  }
}

/**
 * Starts sending heads and notices of erasures while this instance holds the lease, until `stop`. Rejects with `ConfigError` when they are
 * sent to a folder that cannot be written.
 */
export async function startHeads(
  config: Config & { headsTo: string },
  logger: Logger,
  stores: HeadStores,
  pauses: HeadPauses = { everyMs: config.headsEveryMinutes * MINUTE_MS, retryMs: RETRY_MS },
): Promise<HeadsRole> {
  const target = await openHeadTarget(config.headsTo);
  if (isAbsolute(target.place)) await requireFolder(target.place);
  const sender = new HeadSender({ ...stores, target }, logger);
  const leases = await openLeases(config.stateUrl);
  const stopping = new AbortController();
  const work = async (leading: AbortSignal) => {
    for (let due = 0; !leading.aborted; ) {
      const now = performance.now();
      const isDue = now >= due;
      const isSent = await sender.send(isDue);
      if (isDue && isSent) due = now + pauses.everyMs;
      const pause = isSent ? Math.min(pauses.everyMs, POLL_MS) : pauses.retryMs;
      await sleep(pause, undefined, { signal: leading }).catch(() => undefined);
    }
    if (stopping.signal.aborted) await sender.send(true);
  };
  const working = runAsLeader(leases, HEADS_LEASE, leaseOwner(config), stopping.signal, work);
  return {
    findings: () => sender.findings(),
    async stop() {
      stopping.abort();
      const late = new AbortController();
      const tooLate = sleep(LAST_MS, undefined, { signal: late.signal }).catch(() => undefined);
      await Promise.race([working, tooLate]);
      late.abort();
      await leases.close();
    },
  };
}

/** Sends heads, and reports each problem once. */
class HeadSender {
  readonly #ports: HeadStores & HeadPorts;
  readonly #notices: ErasureNotices;
  readonly #logger: Logger;
  #problem: string | undefined;
  #contradicted = new Set<string>();

  constructor(ports: HeadStores & HeadPorts, logger: Logger) {
    this.#ports = ports;
    this.#notices = new ErasureNotices(ports);
    this.#logger = logger;
  }

  /** Sends notices of erasures and, if due, heads; returns whether all were sent. Never rejects. */
  async send(isDue: boolean): Promise<boolean> {
    const before = this.#problem;
    let key: SigningKey | undefined;
    try {
      key = await this.#ports.signingKey();
      // A problem with one of them does not hold up the other.
      const failures: unknown[] = [];
      await this.#notices.send(key, isDue).catch((error) => failures.push(error));
      if (isDue) await this.#sendHeads().catch((error) => failures.push(error));
      if (failures.length > 0) throw failures[0];
      if (this.#problem !== undefined) this.#logger.info('heads are being sent again');
      this.#problem = undefined;
    } catch (error) {
      this.#reportProblem(error);
    }
    if (isDue || this.#problem !== before) await this.#reportStatus(key, isDue);
    return this.#problem === undefined;
  }

  async #sendHeads(): Promise<void> {
    const { eventLog, readModels, directory } = this.#ports;
    // What the projector has not reached by then goes into the next head.
    await untilReached(readModels, treeModel, await eventLog.head(), 'hash tree').catch(() => undefined);
    const workspaces = [INSTALLATION, ...directory.known.workspaces.keys()];
    this.#reportContradictions(await sendHeads(this.#ports, workspaces, this.#ports.signingKey));
  }

  findings(): Finding[] {
    const findings = [...this.#contradicted].map(contradiction);
    return this.#problem === undefined ? findings : [...findings, notSent(this.#problem)];
  }

  /** For the dashboards of all processes, which may lag: what matters is reported by the log and `/readyz`. */
  async #reportStatus(key: SigningKey | undefined, isDue: boolean): Promise<void> {
    const { stateStore, target } = this.#ports;
    const tried_at = new Date().toISOString();
    await reportHeadsStatus(stateStore, {
      place: target.place,
      tried_at,
      problem: this.#problem ?? null,
      ...(isDue && this.#problem === undefined && { sent_at: tried_at }),
      public_key: key === undefined ? null : publicKeysOf(key).text(),
    }).catch(() => undefined);
  }

  #reportProblem(error: unknown): void {
    const known = error instanceof ServiceError ? (error.problem ?? error.message) : undefined;
    const problem = known ?? 'It failed unexpectedly.';
    if (problem !== this.#problem)
      this.#logger.error({ problem, error: describeError(error) }, 'heads cannot be sent');
    this.#problem = problem;
  }

  #reportContradictions(contradicted: Set<string>): void {
    for (const workspace of contradicted) {
      const { code, message } = contradiction(workspace);
      if (!this.#contradicted.has(workspace)) this.#logger.error({ code, workspace }, message);
      this.#contradicted.add(workspace);
    }
  }
}

function notSent(problem: string): Finding {
  return {
    code: 'heads_not_sent',
    message: `Signed heads or notices of erasures cannot be sent; sending is retried automatically. ${problem}`,
  };
}

function contradiction(workspace: string): Finding {
  return {
    code: 'head_contradicted',
    message:
      `The history of the workspace ${workspace} is not the one whose head was sent last: events were changed or removed, ` +
      `or the event log was restored. See: chartledger verify --workspace ${workspace} --heads FOLDER`,
  };
}
