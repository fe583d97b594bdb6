import type { Readable } from 'node:stream';
import { z } from 'zod';
import type { Position, Principal } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import { SharedSemaphore } from '../../platform/threads/semaphore.ts';
import type { StateStore, StateTable } from '../../storage/stateStore.ts';
import type { TreeHeadPublisher } from '../../storage/targets.ts';
import { brokenOff, JobRunner, principalSchema, runSchema } from '../jobs.ts';
import type { ExportJob } from './exportArchive.ts';
import {
  keysOfLog,
  type PublicKeys,
  type SigningKey,
  signTreeHead,
  type TreeHead,
  treeHeadSchema,
} from './publicKeys.ts';
import { headFilesOf, type PublishedHeads, publishedHeads, sentHeads } from './treeHeads.ts';
import {
  type Verified,
  type VerifyOptions,
  type VerifyPorts,
  verifiedTexts,
  verifyWorkspace,
} from './verify.ts';

/** What the dashboard's evidence page works with. */
export interface EvidencePorts {
  verifications: Verifications;
  exports: Exports;
  /** Returns the keys for checking heads and exports; undefined when no key is known. Rejects with `unavailable`. */
  publicKeys(): Promise<PublicKeys | undefined>;
  /**
   * Returns the current signing key, called after the data to sign was obtained; undefined in a process that does not have the
   * key. Rejects with `unavailable`.
   */
  signingKey(): Promise<SigningKey | undefined>;
}

/** The task for which an evidence thread is started. */
export type IntegrityTask =
  | ({ kind: 'verify' } & VerificationJob)
  | { kind: 'export'; job: ExportJob; caller: Caller; until: Position; isSigned: boolean };

/** A message from the thread; after `bytes` it waits for the message `more`. */
export type IntegrityMessage =
  | { kind: 'reached'; position: Position; until: Position; events: number }
  | { kind: 'verified'; history: VerifiedHistory }
  | { kind: 'bytes'; bytes: Uint8Array }
  | { kind: 'exported' };

/** Maximum number of concurrent exports in the process: each occupies a thread. */
export const MOST_EXPORTS = 2;

/** Creates a ZIP of an export outside the request path, at the pace at which it is read. */
export type RunExport = (job: ExportJob, caller: Caller, until: Position, isSigned: boolean) => Readable;

interface ExportsPorts {
  run: RunExport;
  /** Whether manifests can be signed: not in a process that does not have the key. */
  signs(): Promise<boolean>;
  /** The places of `MOST_EXPORTS`; private ones if no other thread exports. */
  places?: SharedSemaphore;
}

/** Exports downloaded from this process. */
export class Exports {
  readonly #ports: ExportsPorts;
  readonly #streams = new Set<Readable>();
  readonly #places: SharedSemaphore;

  constructor(ports: ExportsPorts) {
    this.#ports = ports;
    this.#places = ports.places ?? new SharedSemaphore(MOST_EXPORTS);
  }

  /**
   * Starts an export once `record` has added it to the audit trail; it ends at the position returned by `record`. Rejects with
   * `conflict` while too many are under way. The caller must read the stream to its end, or destroy it.
   */
  async start(job: ExportJob, caller: Caller, record: () => Promise<Position>): Promise<Readable> {
    if (!this.#places.tryAcquire()) {
      throw new ServiceError(
        'conflict',
        `${MOST_EXPORTS} exports are in progress. Try again when one has finished.`,
      );
    }
    try {
      const stream = this.#ports.run(job, caller, await record(), await this.#ports.signs());
      this.#streams.add(stream);
      stream.once('close', () => {
        this.#streams.delete(stream);
        this.#places.give();
      });
      return stream;
    } catch (error) {
      this.#places.give();
      throw error;
    }
  }

  /** Aborts the exports under way. */
  close(): void {
    for (const stream of this.#streams) stream.destroy(new Error('the service ends'));
  }
}

const reportedErasureSchema = z.object({
  stream: z.string(),
  versions: z.number(),
  reason: z.string(),
  principal: principalSchema,
  erased_at: z.string(),
});

/** The findings of a verification. */
const findingsSchema = z.object({
  /** Number of events verified, and of those compared with the read model. */
  events: z.number(),
  compared: z.number(),
  /** Number of heads with which the log was compared. */
  heads: z.number(),
  /** What does not hold, a line each. */
  problems: z.array(z.string()),
  remarks: z.array(z.string()),
  erased: z.object({
    /** Number of events. */
    count: z.number(),
    erasures: z.number(),
    /** The last of them. */
    told: z.array(reportedErasureSchema),
  }),
});

/** The outcome of a verification: `nothing_compared` when there was neither a tree nor a head to compare the log with. */
const outcomes = ['holds', 'does_not_hold', 'nothing_compared', ...brokenOff] as const;

const verificationSchema = runSchema.extend({
  workspace: z.string(),
  /** Its position in the log, and where it will end; both 0 before it starts reading. */
  position: z.number(),
  until: z.number(),
  /** Number of events that held. */
  events: z.number(),
  /** Present once it has ended. */
  outcome: z.enum(outcomes).optional(),
  /** Present if it ran to completion. */
  findings: findingsSchema.optional(),
  /** Present if everything holds, and the process has the key. */
  head: treeHeadSchema.optional(),
});

type VerificationFindings = z.infer<typeof findingsSchema>;
export type VerificationOutcome = (typeof outcomes)[number];

/** The last verification of a workspace's history requested on the dashboard; it may be under way. */
export type Verification = z.infer<typeof verificationSchema>;

/** For `JobRunner`. */
export const verificationTable: StateTable<Verification> = {
  name: 'verifications_v1',
  body: verificationSchema,
};

/** Maximum number of concurrent verifications in a process. */
export const MOST_VERIFICATIONS = 1;

/** What is verified, and against what. */
interface VerificationJob {
  workspace: string;
  /** The last head sent, if any. */
  sent: TreeHead | undefined;
  /** `PublicKeys.text()`: for checking the heads. */
  publicKeys: string | undefined;
}

/** Verifies outside the request path, until done or aborted by the signal; reports progress from time to time. */
export type RunVerification = (
  job: VerificationJob,
  onProgress: (position: Position, until: Position, events: number) => void,
  signal: AbortSignal,
) => Promise<VerifiedHistory>;

interface VerificationPorts {
  stateStore: StateStore;
  run: RunVerification;
  /** Returns the key that signs heads; undefined in a process that does not have it. */
  signingKey(): Promise<SigningKey | undefined>;
  /** Returns the keys for checking heads, whatever their source. */
  publicKeys(): Promise<PublicKeys | undefined>;
  /** Called with the reason when one failed. */
  onFailure(error: Record<string, unknown>): void;
  /** The places of `MOST_VERIFICATIONS`; private ones if no other thread verifies. */
  places?: SharedSemaphore;
}

/** Verifies histories on demand. */
export class Verifications {
  readonly #runs: JobRunner<Verification>;

  constructor(ports: VerificationPorts) {
    const { stateStore, onFailure, places = new SharedSemaphore(MOST_VERIFICATIONS) } = ports;
    this.#runs = new JobRunner({
      ...{ stateStore, onFailure, places, table: verificationTable, title: 'verification' },
      work: ({ workspace }, reached, signal) => verify(ports, workspace, reached, signal),
    });
  }

  /** Returns the last one of a workspace, as `JobRunner.last` does. */
  last(workspace: string): Promise<Verification | undefined> {
    return this.#runs.last(workspace);
  }

  /** Starts one, as `JobRunner.start` does. */
  start(workspace: string, askedBy: Principal, record: () => Promise<unknown>): Promise<void> {
    const begun = { workspace, position: 0, until: 0, events: 0 };
    return this.#runs.start(workspace, askedBy, () => begun, record);
  }

  /** Ends the one under way; its result says so. */
  close(): Promise<void> {
    return this.#runs.close();
  }
}

async function verify(
  { stateStore, run, signingKey, publicKeys }: VerificationPorts,
  workspace: string,
  reached: (changes: Partial<Verification>) => void,
  signal: AbortSignal,
): Promise<Partial<Verification>> {
  const sent = (await sentHeads(stateStore, [workspace])).get(workspace);
  const job = { workspace, sent, publicKeys: (await publicKeys())?.text() };
  signal.throwIfAborted();
  const onProgress = (position: Position, until: Position, events: number) =>
    reached({ position, until, events });
  const { findings, tree, lastEvent } = await run(job, onProgress, signal);
  const outcome = outcomeOf(findings);
  const key = outcome === 'holds' && tree.size > 0 ? await signingKey() : undefined;
  const head = key && signTreeHead(workspace, tree, lastEvent, key);
  return { outcome, findings, events: findings.events, ...(head && { head }) };
}

function outcomeOf({ problems, compared, heads }: VerifiedHistory['findings']): VerificationOutcome {
  if (problems.length > 0) return 'does_not_hold';
  return compared === 0 && heads === 0 ? 'nothing_compared' : 'holds';
}

/** Number of erasures that are listed; the rest are counted. */
const MAX_LISTED = 20;

/** What the history is compared with besides the read model. */
interface ComparedHeads {
  /** The last head sent, as recorded by the service. */
  sent: TreeHead | undefined;
  /** Where all of them are; undefined if this process does not know. */
  target: TreeHeadPublisher | undefined;
  /** For checking them; undefined: no head can be checked. */
  publicKeys: PublicKeys | undefined;
}

/** The findings, and what is needed to create a head. */
export interface VerifiedHistory {
  findings: VerificationFindings;
  tree: Verified['tree'];
  lastEvent: Verified['lastEvent'];
}

/** Verifies the history of a workspace, also against the heads that were sent. Rejects with `unavailable`. */
export async function verifyAgainstHeads(
  ports: VerifyPorts,
  workspace: string,
  known: ComparedHeads,
  onProgress: VerifyOptions['onProgress'],
): Promise<VerifiedHistory> {
  const { publicKeys, ends, problems: keyProblems } = await keysOfLog(ports.eventLog, known.publicKeys);
  const { heads, problems: headProblems, remark } = await headsOf(workspace, { ...known, publicKeys });
  const found = await verifyWorkspace(ports, workspace, { heads, keyEnds: ends, onProgress });
  const { problems, remarks } = verifiedTexts(found);
  const { tree, lastEvent, compared, erased } = found;
  const listed = erased.reported.slice(-MAX_LISTED);
  return {
    findings: {
      events: tree.size,
      compared,
      heads: heads.length,
      problems: [...keyProblems, ...headProblems, ...problems],
      remarks: remark === undefined ? remarks : [remark, ...remarks],
      erased: { count: erased.count, erasures: erased.reported.length, told: listed },
    },
    tree,
    lastEvent: lastEvent && {
      id: lastEvent.id,
      ...(lastEvent.recordedAt && { recordedAt: lastEvent.recordedAt }),
    },
  };
}

/** Returns those stored at their destination, and the last one recorded by the service. */
async function headsOf(
  workspace: string,
  { sent, target, publicKeys }: ComparedHeads,
): Promise<PublishedHeads & { remark?: string }> {
  const remembered = sent === undefined ? [] : [sent];
  if (target === undefined || publicKeys === undefined) return { heads: remembered, problems: [] };
  if (target.list === undefined) {
    const remark = `The heads sent to ${target.place} cannot be read back, so the history was compared only with the last head.`;
    return { heads: remembered, problems: [], remark };
  }
  try {
    const found = await publishedHeads(target.list(headFilesOf(workspace)), workspace, publicKeys);
    const isKept = (head: TreeHead) => found.heads.some(({ signature }) => signature === head.signature);
    return { ...found, heads: [...remembered.filter((head) => !isKept(head)), ...found.heads] };
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    const remark = `The heads in ${target.place} could not be read: ${error.problem ?? error.message}`;
    return { heads: remembered, problems: [], remark };
  }
}
