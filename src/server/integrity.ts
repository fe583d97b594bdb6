import { Readable } from 'node:stream';
import type { Logger } from 'pino';
import {
  type EvidencePorts,
  Exports,
  type IntegrityMessage,
  type IntegrityTask,
  type RunExport,
  type RunVerification,
  Verifications,
} from '../modules/integrity/jobs.ts';
import { PublicKeys, publicKeysOf } from '../modules/integrity/publicKeys.ts';
import { headsStatus } from '../modules/integrity/treeHeads.ts';
import type { Keyring } from '../modules/keyring.ts';
import type { AnalysisMessage, RunAnalysis } from '../modules/readiness/jobs.ts';
import type { Config } from '../platform/config.ts';
import { workerUrl } from '../platform/threads/workerUrl.ts';
import type { EventLog } from '../storage/eventLog.ts';
import type { StateStore } from '../storage/stateStore.ts';
import { findSigningKey, type ManagedKeyName } from './keys.ts';
import type { ConcurrencyLimits } from './sharedMemory.ts';
import { runTask, startTask } from './tasks.ts';

/** Runs each analysis in its own thread. */
export function analyseInThread(config: Config): RunAnalysis {
  const url = workerUrl('analysisWorker', import.meta.url);
  return async (task, onMessage, signal) => {
    await runTask(url, { config, task }, signal, (message: AnalysisMessage) => {
      onMessage(message);
      return message.kind === 'done' ? true : undefined;
    });
  };
}

/** A reader that pauses for this long has gone away. */
const STALLED_MS = 60_000;

const url = workerUrl('integrityWorker', import.meta.url);

/** Runs each verification in its own thread. */
function verifyInThread(config: Config): RunVerification {
  return ({ ...job }, onProgress, signal) => {
    const task: IntegrityTask = { kind: 'verify', ...job };
    return runTask(url, { config, task }, signal, (message: IntegrityMessage) => {
      if (message.kind === 'reached') onProgress(message.position, message.until, message.events);
      return message.kind === 'verified' ? message.history : undefined;
    });
  };
}

/** Creates each export in its own thread. */
function exportInThread(config: Config): RunExport {
  return (job, caller, until, isSigned) => {
    let isOwed = false;
    let stalled: NodeJS.Timeout | undefined;
    /** Resumes the thread, which has been waiting since it sent its last bytes. */
    const more = () => {
      clearTimeout(stalled);
      if (isOwed) worker.postMessage('more');
      isOwed = false;
    };
    const stream = new Readable({
      read: more,
      destroy(error, done) {
        clearTimeout(stalled);
        worker.terminate().then(() => done(error), done);
      },
    });
    const onFailure = (error: Error) => stream.destroy(error);
    const task: IntegrityTask = { kind: 'export', job, caller, until, isSigned };
    const onMessage = (message: IntegrityMessage) => {
      if (message.kind === 'exported') stream.push(null);
      if (message.kind !== 'bytes' || stream.destroyed) return;
      isOwed = true;
      if (stream.push(message.bytes)) more();
      else stalled = setTimeout(() => onFailure(new Error('nobody reads the export')), STALLED_MS);
    };
    const worker = startTask(url, { config, task }, { onMessage, onFailure });
    return stream;
  };
}

interface IntegrityStores {
  eventLog: EventLog;
  stateStore: StateStore;
  knownKeys: Keyring<ManagedKeyName>;
}

/** Opens what the evidence page works with; `close` ends what is under way. */
export function openEvidence(
  config: Config,
  logger: Logger,
  { eventLog, stateStore, knownKeys }: IntegrityStores,
  places?: ConcurrencyLimits,
): EvidencePorts & { close(): Promise<void> } {
  // It is created only beside an embedded log, whose data folder is the only place for it: elsewhere another process may be the
  // one intended to have it.
  const isMade = config.eventLogUrl.startsWith('sqlite:');
  const signingKey = () => findSigningKey(eventLog, knownKeys, isMade);
  const publicKeys = async () => {
    const own = await signingKey();
    if (own) return publicKeysOf(own);
    const told = (await headsStatus(stateStore))?.public_key;
    return told ? PublicKeys.parse(told) : undefined;
  };
  const onFailure = (error: Record<string, unknown>) => logger.error({ error }, 'a verification failed');
  const run = verifyInThread(config);
  const ports = { stateStore, run, signingKey, publicKeys, onFailure };
  const verifications = new Verifications({ ...ports, ...(places && { places: places.verifications }) });
  const exports = new Exports({
    run: exportInThread(config),
    signs: async () => (await signingKey()) !== undefined,
    ...(places && { places: places.exports }),
  });
  return {
    verifications,
    exports,
    publicKeys,
    signingKey,
    async close() {
      exports.close();
      await verifications.close();
    },
  };
}
