import { PassThrough, Readable } from 'node:stream';
import { ZipFile } from 'yazl';
import type { QueryPorts } from '../records/queries/records.ts';
import { digesting, manifestPath, type ReportDigest, type ReportOrigin, signReport } from './manifest.ts';
import { publicKeysOf, type SigningKey } from './publicKeys.ts';

/** A report that is in the audit trail. */
interface ReportFile {
  name: string;
  body: Readable;
}

/**
 * Returns a report as a ZIP, created while it is read: the file, its signed manifest and the public key for checking it. The stream
 * fails as the file's and as `signReport` do.
 */
export function zipReport(
  ports: QueryPorts,
  origin: ReportOrigin,
  { name, body }: ReportFile,
  key: SigningKey,
): Readable {
  const zip = new ZipFile();
  let digest: ReportDigest | undefined;
  async function* file(): AsyncGenerator<Buffer> {
    digest = yield* digesting(body);
  }
  const manifest = async () => {
    const signed = await signReport(ports, origin, digest as ReportDigest, async () => key);
    return `${JSON.stringify(signed, undefined, 2)}\n`;
  };
  // Its size is not known in advance, and may exceed the limit of the older ZIP format.
  zip.addReadStream(Readable.from(file()), name, { forceZip64Format: true });
  zip.addReadStreamLazy(manifestPath(name), (give) => {
    manifest().then(
      (text) => give(null, new PassThrough().end(text)),
      (error) => give(error, new PassThrough()),
    );
  });
  zip.addBuffer(Buffer.from(publicKeysOf(key).text()), 'chartledger.pem');
  const bytes = zip.outputStream as Readable;
  zip.on('error', (error: Error) => bytes.destroy(error));
  zip.end();
  return bytes;
}
