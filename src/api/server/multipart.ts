import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import busboy from 'busboy';
import { MAX_DOCUMENT_BYTES } from '../../domain/records/document.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { type FieldMessage, ServiceError } from '../../platform/errors.ts';
import { BROKEN_OFF, inviteBody, withLongBody } from './answer.ts';
import { ownersOf, reserveShare } from './loadShedder.ts';
import type { RequestContext } from './requestContext.ts';

/** The body of an upload: its text fields, and the result of receiving its file. */
export interface Multipart<File> {
  fields: Record<string, string>;
  file: File | undefined;
}

/** What one upload holds in memory. */
const MEMORY_BYTES = 512 * 1024;
const MAX_FIELD_BYTES = 8 * 1024;
const MAX_PARTS = 20;
/** What the form may add to the file. */
const MAX_OVERHEAD_BYTES = 1024 * 1024;

/** Returns the refusal of a file that is too large. */
export function fileTooLarge(): ServiceError {
  return new ServiceError('payload_too_large', 'The file is larger than 250 MB.');
}

/** Returns the refusal of a form that cannot be read. */
export function brokenForm(cause?: unknown): ServiceError {
  return new ServiceError('malformed_body', 'The form is malformed or incomplete.', { cause });
}

/** Returns the refusal of a body of another type. */
export function notMultipart(): ServiceError {
  return new ServiceError(
    'unsupported_media_type',
    'Send the document with Content-Type: multipart/form-data.',
  );
}

function startParser(req: IncomingMessage): busboy.Busboy {
  if (!/^multipart\/form-data\s*(?:;|$)/i.test(req.headers['content-type'] ?? '')) {
    throw notMultipart();
  }
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new ServiceError('unsupported_media_type', 'Send the form without a Content-Encoding.');
  }
  if (Number(req.headers['content-length'] ?? 0) > MAX_DOCUMENT_BYTES + MAX_OVERHEAD_BYTES)
    throw fileTooLarge();
  const limits = { fileSize: MAX_DOCUMENT_BYTES + 1, fieldSize: MAX_FIELD_BYTES, parts: MAX_PARTS + 1 };
  try {
    return busboy({ headers: req.headers, limits, defParamCharset: 'utf8' });
  } catch (error) {
    throw new ServiceError('malformed_body', 'The form has no valid boundary.', { cause: error });
  }
}

/**
 * Reads a `multipart/form-data` body with at most one file, in the part `file`, and text fields in any order.
 * `receive` consumes the file as it arrives. Rejects when the form is broken, too large or repeats a part, and with
 * what `receive` rejects with, but only after `receive` is done; `discard` then undoes what it received.
 */
export async function readMultipart<File>(
  context: Pick<RequestContext, 'req' | 'res' | 'bodies' | 'found'>,
  receive: (filename: string, source: Readable) => Promise<File>,
  discard: (file: File) => Promise<void>,
): Promise<Multipart<File>> {
  const { req, res, bodies } = context;
  const parser = startParser(req);
  const share = bodies.uploads.share(ownersOf(context));
  reserveShare(share, MEMORY_BYTES);
  try {
    inviteBody(req, res);
    return await withLongBody(req, () => readForm(req, parser, receive, discard));
  } finally {
    share.release();
  }
}

async function readForm<File>(
  req: IncomingMessage,
  parser: busboy.Busboy,
  receive: (filename: string, source: Readable) => Promise<File>,
  discard: (file: File) => Promise<void>,
): Promise<Multipart<File>> {
  const fields: Record<string, string> = Object.create(null);
  const problems: FieldMessage[] = [];
  const form = parse(req, parser);
  let receiving: Promise<File> | undefined;

  parser.on('field', (name, value, { valueTruncated }) => {
    const problem = fieldProblem(fields, name, value, valueTruncated);
    if (problem === undefined) fields[name] = value;
    else problems.push({ field: fieldName(name), message: problem });
  });
  parser.on('file', (name, stream, { filename }) => {
    // The end of the form is reported once, by `form.read`; without a listener a broken file would end the process.
    stream.on('error', () => undefined);
    if (name !== 'file' || receiving !== undefined) {
      const message = name === 'file' ? 'must be sent once' : 'is not a known file field';
      problems.push({ field: fieldName(name), message });
      stream.resume();
      return;
    }
    stream.on('limit', () => form.fail(fileTooLarge()));
    form.onFail((error) => stream.destroy(error));
    receiving = receive((filename ?? '').toWellFormed(), stream);
    receiving.catch(form.fail);
  });

  try {
    await form.read;
    const file = await receiving;
    if (problems.length > 0) throw validationError(problems);
    return { fields, file };
  } catch (error) {
    const file = await receiving?.catch(() => undefined);
    if (file !== undefined) await discard(file);
    throw error;
  }
}

/** A part may have no name at all, though the type says otherwise. */
function fieldName(name: string | undefined): string {
  return name?.slice(0, 100) ?? '';
}

function fieldProblem(
  fields: Record<string, string>,
  name: string | undefined,
  value: string,
  truncated: boolean,
): string | undefined {
  if (name === undefined) return 'A part has no name';
  if (name in fields) return 'must be sent once';
  if (name === 'file') return 'must be sent as a file, with a filename';
  if (truncated) return 'is too long';
  // Bytes that are not UTF-8 were replaced: two different ids could have become one.
  if (!value.isWellFormed() || value.includes('\ufffd')) return 'must be text in UTF-8';
  return undefined;
}

interface Form {
  /** Resolves when the whole form was read; rejects when it is broken, was failed, or the client went away. */
  read: Promise<void>;
  fail(error: Error): void;
  onFail(listener: (error: Error) => void): void;
}

function parse(req: IncomingMessage, parser: busboy.Busboy): Form {
  const listeners: ((error: Error) => void)[] = [];
  const { promise: read, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: Error) => {
    req.unpipe(parser);
    // The parser continues to the end of its input: a file that it still finds there is ignored.
    parser.removeAllListeners('file');
    for (const listener of listeners) listener(error);
    reject(error);
  };
  const brokeOff = () => fail(new ServiceError('malformed_body', 'The form is incomplete.'));
  parser.on('close', resolve);
  parser.on('error', (error) => fail(brokenForm(error)));
  parser.on('partsLimit', () =>
    fail(new ServiceError('malformed_body', `The form has more than ${MAX_PARTS} parts.`)),
  );
  req.on('error', brokeOff);
  req.on(BROKEN_OFF, fail);
  req.on('close', () => {
    if (!req.complete) brokeOff();
  });
  if (req.destroyed) brokeOff();
  else req.pipe(parser);
  return { read, fail, onFail: (listener) => listeners.push(listener) };
}
