import { constants, createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { MllpSettings } from '../../platform/config.ts';
import { unavailable } from '../../platform/errors.ts';

/** The files used for TLS, and a digest of them by which a change is detected. */
export interface TlsFiles {
  context: SecureContextOptions;
  digest: string;
}

/** Reads the files. Rejects with `unavailable`, whose `problem` names the file and what is wrong. */
export async function readTlsFiles(paths: NonNullable<MllpSettings['tls']>): Promise<TlsFiles> {
  const cert = await read('MLLP_TLS_CERTIFICATE', paths.certificate);
  const key = await read('MLLP_TLS_KEY', paths.key);
  const ca = paths.ca === undefined ? undefined : await read('MLLP_TLS_CA', paths.ca);
  // Without sessions to resume, a client's identity is checked for each connection.
  const context = { cert, key, ...(ca && { ca }), secureOptions: constants.SSL_OP_NO_TICKET };
  try {
    createSecureContext(context);
  } catch (error) {
    const problem =
      'The files of MLLP_TLS_CERTIFICATE, MLLP_TLS_KEY and MLLP_TLS_CA must be a certificate, its key, and certificates of authorities, in PEM.';
    throw unavailable('certificate', error, problem);
  }
  const digest = createHash('sha256');
  for (const bytes of [cert, key, ca ?? '']) digest.update(bytes);
  return { context, digest: digest.digest('hex') };
}

async function read(setting: string, path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw unavailable('certificate', error, `${path} (${setting}) cannot be read (${code}).`);
  }
}
