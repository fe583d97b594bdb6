import { Readable } from 'node:stream';
import type { RunExport } from '../modules/integrity/Exports.ts';
import type { EvidenceMessage, EvidenceTask } from '../modules/integrity/evidenceTask.ts';
import type { RunVerification } from '../modules/integrity/Verifications.ts';
import type { Config } from '../platform/config.ts';
import { workerUrl } from '../platform/threads/workerUrl.ts';
import { runTask, startTask } from './startTask.ts';

/** A reader that pauses for this long has gone away. */
const STALLED_MS = 60_000;

const url = workerUrl('evidenceWorker', import.meta.url);

/** Runs each verification in its own thread. */
export function verifyInThread(config: Config): RunVerification {
  return ({ ...job }, onProgress, signal) => {
    const task: EvidenceTask = { kind: 'verify', ...job };
    return runTask(url, { config, task }, signal, (message: EvidenceMessage) => {
      if (message.kind === 'reached') onProgress(message.position, message.until, message.events);
      return message.kind === 'verified' ? message.history : undefined;
    });
  };
}

/** Creates each export in its own thread. */
export function exportInThread(config: Config): RunExport {
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
    const task: EvidenceTask = { kind: 'export', job, caller, until, isSigned };
    const onMessage = (message: EvidenceMessage) => {
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
