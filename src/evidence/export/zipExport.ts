import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { EventLog } from '../../ports/eventLog.ts';
import { publicKeysOf, type SigningKey } from '../keys/SigningKey.ts';
import { type ExportJob, type ExportProgress, exportEvents } from './exportEvents.ts';
import type { LineContext } from './exportLines.ts';
import { manifestPath, signManifest } from './manifest.ts';

/** What the files of an export are made with. */
export interface ZipContext extends Pick<LineContext, 'nameOf'> {
  /** Gives the key that signs the manifest, when the events are through; without it, there is none. */
  signingKey: (() => Promise<SigningKey>) | undefined;
}

/**
 * An export as a ZIP, made while it is read: the events, and where a key is given its manifest and the public key that
 * checks it. The stream fails as `exportEvents` does.
 */
export function zipExport(
  eventLog: EventLog,
  job: ExportJob,
  progress: ExportProgress,
  { nameOf, signingKey }: ZipContext,
): Readable {
  const zip = new ZipFile();
  const name = `${job.workspace}.${job.format}`;
  const events = new PassThrough();
  const hash = createHash('sha256');
  const sink = {
    async write(text: string) {
      hash.update(text);
      if (!events.write(text)) await once(events, 'drain');
    },
    reached: async () => undefined,
  };
  exportEvents(eventLog, job, nameOf, progress, sink).then(
    () => events.end(),
    (error) => events.destroy(error),
  );
  // Its size is not known beforehand, and may be beyond what the older form of a ZIP can hold.
  zip.addReadStream(events, name, { forceZip64Format: true });
  if (signingKey) {
    const addLast = (path: string, textOf: (key: SigningKey) => string) =>
      zip.addReadStreamLazy(path, (give) => {
        signingKey().then(
          (key) => give(null, new PassThrough().end(textOf(key))),
          (error) => give(error, new PassThrough()),
        );
      });
    addLast(manifestPath(name), (key) => {
      const digest = { bytes: progress.bytes, sha256: hash.digest('hex') };
      return `${JSON.stringify(signManifest(job, progress, digest, key), undefined, 2)}\n`;
    });
    addLast('chartledger.pem', (key) => publicKeysOf(key).text());
  }
  const bytes = zip.outputStream as Readable;
  zip.on('error', (error: Error) => bytes.destroy(error));
  zip.end();
  return bytes;
}
