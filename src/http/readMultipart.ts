import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import busboy from 'busboy';
import { type FieldMessage, ServiceError } from '../errors.ts';
import { MAX_DOCUMENT_BYTES } from '../records/document.ts';
import { validationError } from '../records/validate.ts';

/** The body of an upload: its text fields, and what became of its file. */
export interface Multipart<File> {
  fields: Record<string, string>;
  file: File | undefined;
}

const MAX_FIELD_BYTES = 8 * 1024;
const MAX_PARTS = 20;
/** What the form may add to the file. */
const MAX_OVERHEAD_BYTES = 1024 * 1024;

function tooLarge(): ServiceError {
  return new ServiceError('payload_too_large', 'The file is larger than 250 MB.');
}

function startParser(req: IncomingMessage): busboy.Busboy {
  if (!/^multipart\/form-data\s*;/i.test(req.headers['content-type'] ?? '')) {
    throw new ServiceError(
      'unsupported_media_type',
      'Send the document as Content-Type: multipart/form-data.',
    );
  }
  if (Number(req.headers['content-length'] ?? 0) > MAX_DOCUMENT_BYTES + MAX_OVERHEAD_BYTES) throw tooLarge();
  const limits = { fileSize: MAX_DOCUMENT_BYTES + 1, fieldSize: MAX_FIELD_BYTES, parts: MAX_PARTS };
  try {
    return busboy({ headers: req.headers, limits, defParamCharset: 'utf8' });
  } catch (error) {
    throw new ServiceError('malformed_body', 'The form has no usable boundary.', { cause: error });
  }
}

/**
 * Reads a `multipart/form-data` body with at most one file, in the part `file`, and text fields in any order.
 * `receive` consumes the file as it comes. Rejects when the form is broken, too large or repeats a part, but only
 * after `receive` is done; `discard` then takes back what it received.
 */
export async function readMultipart<File>(
  req: IncomingMessage,
  receive: (filename: string, source: Readable) => Promise<File>,
  discard: (file: File) => Promise<void>,
): Promise<Multipart<File>> {
  const parser = startParser(req);
  const fields: Record<string, string> = Object.create(null);
  const problems: FieldMessage[] = [];
  let receiving: Promise<File> | undefined;
  let fileStream: Readable | undefined;

  parser.on('field', (name, value, { valueTruncated }) => {
    if (name in fields) problems.push({ field: name.slice(0, 100), message: 'must be sent once' });
    else if (valueTruncated) problems.push({ field: name.slice(0, 100), message: 'is too long' });
    else if (name === 'file')
      problems.push({ field: 'file', message: 'must be sent as a file, with a filename' });
    else fields[name] = value;
  });
  parser.on('file', (name, stream, { filename }) => {
    if (name !== 'file' || receiving !== undefined) {
      problems.push({
        field: name.slice(0, 100),
        message: name === 'file' ? 'must be sent once' : 'is not a known file',
      });
      stream.resume();
      return;
    }
    fileStream = stream;
    stream.on('limit', () => stream.destroy(tooLarge()));
    receiving = receive(filename ?? '', stream);
    receiving.catch(() => undefined);
  });

  try {
    await parsed(req, parser, () => fileStream);
  } catch (error) {
    const file = await receiving?.catch(() => undefined);
    if (file !== undefined) await discard(file);
    throw error;
  }
  const file = await receiving;
  if (problems.length > 0) {
    if (file !== undefined) await discard(file);
    throw validationError(problems);
  }
  return { fields, file };
}

/** Resolves when the whole form was read; rejects when it is broken, or the client went away. */
function parsed(
  req: IncomingMessage,
  parser: busboy.Busboy,
  fileStream: () => Readable | undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = (error: Error) => {
      req.unpipe(parser);
      fileStream()?.destroy(error);
      reject(error);
    };
    parser.on('close', resolve);
    parser.on('error', (error) =>
      fail(new ServiceError('malformed_body', 'The form is broken or incomplete.', { cause: error })),
    );
    parser.on('partsLimit', () =>
      fail(new ServiceError('malformed_body', `The form has more than ${MAX_PARTS} parts.`)),
    );
    req.on('close', () => {
      if (!req.complete) fail(new ServiceError('malformed_body', 'The form broke off.'));
    });
    req.on('error', () => fail(new ServiceError('malformed_body', 'The form broke off.')));
    req.pipe(parser);
  });
}
