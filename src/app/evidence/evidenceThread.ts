import { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import type { Config } from '../../config.ts';
import { ServiceError } from '../../errors.ts';
import type { EvidenceMessage, EvidenceTask, ThreadFailure } from '../../evidence/evidenceTask.ts';
import type { RunExport } from '../../evidence/export/Exports.ts';
import type { RunVerification } from '../../evidence/verification/Verifications.ts';
import { workerUrl } from '../../threads/workerUrl.ts';

/** A thread that needs more memory ends, and the service goes on. */
const MOST_MEMORY_MB = 512;
/** Who does not read on for so long has gone away. */
const STALLED_MS = 60_000;

/** Runs verifications in a thread each. */
export function verifyInThread(config: Config): RunVerification {
  return async ({ ...job }, onProgress, signal) => {
    const { promise, resolve, reject } = Promise.withResolvers<Awaited<ReturnType<RunVerification>>>();
    const worker = startWorker(config, { kind: 'verify', ...job }, reject, (message) => {
      if (message.kind === 'reached') onProgress(message.position, message.until, message.events);
      else if (message.kind === 'verified') resolve(message.history);
    });
    const stop = () => reject(signal.reason);
    signal.addEventListener('abort', stop);
    try {
      signal.throwIfAborted();
      return await promise;
    } finally {
      signal.removeEventListener('abort', stop);
      await worker.terminate();
    }
  };
}

/** Makes exports in a thread each. */
export function exportInThread(config: Config): RunExport {
  return (job, until, signingKey) => {
    let isOwed = false;
    let stalled: NodeJS.Timeout | undefined;
    /** Lets the thread go on that waits since its last bytes. */
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
    const fail = (error: Error) => stream.destroy(error);
    const worker = startWorker(config, { kind: 'export', job, until, signingKey }, fail, (message) => {
      if (message.kind === 'exported') stream.push(null);
      if (message.kind !== 'bytes' || stream.destroyed) return;
      isOwed = true;
      if (stream.push(message.bytes)) more();
      else stalled = setTimeout(() => fail(new Error('nobody reads the export')), STALLED_MS);
    });
    return stream;
  };
}

function startWorker(
  config: Config,
  task: EvidenceTask,
  onFailure: (error: Error) => void,
  onMessage: (message: EvidenceMessage) => void,
): Worker {
  const worker = new Worker(workerUrl('evidenceWorker', import.meta.url), {
    workerData: { config, task },
    resourceLimits: { maxOldGenerationSizeMb: MOST_MEMORY_MB },
  });
  worker.on('message', (message: EvidenceMessage) => {
    if (message.kind === 'failed') onFailure(errorOf(message));
    else onMessage(message);
  });
  worker.on('error', onFailure);
  worker.on('exit', () => onFailure(new Error('the thread ended')));
  return worker;
}

function errorOf({ known, frames }: ThreadFailure): Error {
  const error = known
    ? new ServiceError(known.code, known.message, { problem: known.problem })
    : new Error('a thread of evidence failed');
  return Object.assign(error, { stack: [error.message, ...frames].join('\n    ') });
}
