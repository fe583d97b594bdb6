import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { PassThrough, type Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import { type ExportContext, exportEvents } from './export.ts';
import { type ExportJob, type ExportProgress, signManifest } from './exportArchive.ts';
import { manifestPath } from './manifest.ts';
import { publicKeysOf, type SigningKey } from './publicKeys.ts';

/** What is needed to create the files of an export. */
interface ZipContext extends ExportContext {
  /** Returns the key that signs the manifest, called once all events are written; without it, there is no manifest. */
  signingKey: (() => Promise<SigningKey>) | undefined;
}

/**
 * Returns an export as a ZIP, created while it is read: the events and, if a key is given, the manifest and the public key for
 * checking it. The stream fails as `exportEvents` does.
 */
export function zipExport(
  { signingKey, ...context }: ZipContext,
  job: ExportJob,
  progress: ExportProgress,
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
  exportEvents(context, job, progress, sink).then(
    () => events.end(),
    (error) => events.destroy(error),
  );
  // Its size is not known in advance, and may exceed the limit of the older ZIP format.
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
