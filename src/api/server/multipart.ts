import type { IncomingMessage } from 'node:http';
import { PassThrough, Readable } from 'node:stream';
import { MAX_DOCUMENT_BYTES } from '../../domain/records/document.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { type FieldMessage, ServiceError } from '../../platform/errors.ts';
import { BROKEN_OFF, GatheredBytes, inviteBody, withLongBody } from './answer.ts';
import { malformedForm, readParts } from './formParts.ts';
import { ownersOf, reserveShare } from './loadShedder.ts';
import { boundaryOf, readPartHeaders } from './partHeaders.ts';
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
/** The form may add 1 MB to the file. */
const MAX_FORM_BYTES = MAX_DOCUMENT_BYTES + 1024 * 1024;

/** Returns the refusal of a file that is too large. */
export function fileTooLarge(): ServiceError {
  return new ServiceError('payload_too_large', 'The file is larger than 250 MB.');
}

/** Returns the refusal of a form whose end did not arrive. */
export function incompleteForm(): ServiceError {
  return malformedForm('The form is incomplete.');
}

/** Returns the refusal of a body of another type. */
export function notMultipart(): ServiceError {
  return new ServiceError(
    'unsupported_media_type',
    'Send the document with Content-Type: multipart/form-data.',
  );
}

/** Returns the boundary of a form, if its headers are acceptable. */
function requireForm({ headers }: IncomingMessage): string {
  const { 'content-type': type = '', 'content-encoding': encoding = 'identity' } = headers;
  if (!/^multipart\/form-data\s*(?:;|$)/i.test(type)) throw notMultipart();
  if (encoding !== 'identity') {
    throw new ServiceError('unsupported_media_type', 'Send the form without a Content-Encoding.');
  }
  if (Number(headers['content-length'] ?? 0) > MAX_FORM_BYTES) throw fileTooLarge();
  const boundary = boundaryOf(type);
  if (boundary === undefined) throw malformedForm('The Content-Type of the form has no valid boundary.');
  return boundary;
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
  const boundary = requireForm(req);
  const share = bodies.uploads.share(ownersOf(context));
  reserveShare(share, MEMORY_BYTES);
  try {
    inviteBody(req, res);
    return await withLongBody(req, () => readForm(req, boundary, receive, discard));
  } finally {
    share.release();
  }
}

async function readForm<File>(
  req: IncomingMessage,
  boundary: string,
  receive: (filename: string, source: Readable) => Promise<File>,
  discard: (file: File) => Promise<void>,
): Promise<Multipart<File>> {
  const fields: Record<string, string> = Object.create(null);
  const problems: FieldMessage[] = [];
  let file: { received: File } | undefined;
  const body = bodyOf(req);
  try {
    for await (const part of readParts(limited(body, MAX_FORM_BYTES), boundary)) {
      if (part.number > MAX_PARTS) throw malformedForm(`The form has more than ${MAX_PARTS} parts.`);
      const { name, filename, charset } = readPartHeaders(part);
      const problem = (message: string) =>
        problems.push({ field: name.slice(0, 100).toWellFormed(), message });
      if (filename === undefined) {
        const text = await readText(part.content, charset);
        if (name in fields) problem('must be sent once');
        else if (name === 'file') problem('must be sent as a file, with a filename');
        else if ('problem' in text) problem(text.problem);
        else fields[name] = text.value;
      } else if (name === 'file' && file === undefined) {
        file = {
          received: await receiveContent(body, part.content, (content) => receive(filename, content)),
        };
      } else {
        problem(name === 'file' ? 'must be sent once' : 'must be sent as text, without a filename');
        for await (const _ of part.content);
      }
    }
    if (problems.length > 0) throw validationError(problems);
    return { fields, file: file?.received };
  } catch (error) {
    if (file !== undefined) await discard(file.received);
    throw error;
  } finally {
    // What is left of the body is for those who answer the request.
    req.unpipe(body);
    body.destroy();
  }
}

/** Returns the body of a request; it fails with a `ServiceError` when no more of it will arrive. */
function bodyOf(req: IncomingMessage): PassThrough {
  const body = new PassThrough();
  const fail = (error: ServiceError) => {
    req.unpipe(body);
    body.destroy(error);
  };
  const brokeOff = () => fail(incompleteForm());
  // A reader gets the error from its iteration; there may be no reader at that moment.
  body.on('error', () => undefined);
  req.on('error', brokeOff);
  req.on(BROKEN_OFF, fail);
  req.on('close', () => {
    if (!req.complete) brokeOff();
  });
  if (req.destroyed) brokeOff();
  else req.pipe(body);
  return body;
}

async function* limited(bytes: AsyncIterable<Buffer>, max: number): AsyncGenerator<Buffer, void> {
  let size = 0;
  for await (const chunk of bytes) {
    size += chunk.length;
    if (size > max) throw fileTooLarge();
    yield chunk;
  }
}

/** Resolves as `receive` does; when the form fails meanwhile, rejects with its error, and `receive` gets it immediately. */
async function receiveContent<File>(
  body: Readable,
  content: AsyncIterable<Buffer>,
  receive: (content: Readable) => Promise<File>,
): Promise<File> {
  let failure: { error: unknown } | undefined;
  const bytes = async function* () {
    try {
      yield* limited(content, MAX_DOCUMENT_BYTES);
    } catch (error) {
      failure = { error };
      throw error;
    }
  };
  const source = Readable.from(bytes(), { objectMode: false });
  source.on('error', () => undefined);
  const abort = (error: Error) => source.destroy(error);
  body.once('error', abort);
  try {
    return await receive(source);
  } catch (error) {
    throw body.errored ?? (failure ? failure.error : error);
  } finally {
    body.off('error', abort);
  }
}

async function readText(
  content: AsyncIterable<Buffer>,
  charset: string,
): Promise<{ value: string } | { problem: string }> {
  const bytes = new GatheredBytes();
  let isTooLong = false;
  for await (const chunk of content) {
    if (bytes.length + chunk.length > MAX_FIELD_BYTES) isTooLong = true;
    else bytes.add(chunk);
  }
  if (isTooLong) return { problem: 'is too long' };
  try {
    // Two ids must not become one by replacing bytes.
    const text = new TextDecoder(charset, { fatal: true }).decode(bytes.drain());
    // Hand-written clients put a line break too many before a boundary.
    return { value: text.replace(/(?<![\r\n])[\r\n]+$/, '') };
  } catch {
    return { problem: `must be text in ${charset.toUpperCase()}` };
  }
}
