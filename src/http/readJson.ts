import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import { ServiceError } from '../errors.ts';

/** 1 MB, as mebibytes. */
const MAX_BODY_BYTES = 1024 * 1024;

const decoder = new TextDecoder('utf-8', { fatal: true });
const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

function tooLarge(): ServiceError {
  return new ServiceError('payload_too_large', 'The body is larger than 1 MB.');
}

function malformed(reason: string): ServiceError {
  return new ServiceError('malformed_body', `The body ${reason}.`);
}

/** Whether a Content-Type is JSON in UTF-8; parameters beside `charset` mean nothing. */
function isJsonType(header: string): boolean {
  if (header === 'application/json') return true;
  try {
    const { essence, params } = new MIMEType(header);
    return essence === 'application/json' && /^utf-?8$/i.test(params.get('charset') ?? 'utf-8');
  } catch {
    return false;
  }
}

async function collect(req: IncomingMessage): Promise<Buffer> {
  if (Number(req.headers['content-length'] ?? 0) > MAX_BODY_BYTES) throw tooLarge();
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    req.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length > MAX_BODY_BYTES) {
        req.removeAllListeners('data');
        reject(tooLarge());
      } else {
        chunks.push(chunk);
      }
    });
    req.on('end', () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)));
    req.on('error', () => reject(malformed('broke off')));
  });
}

function requireWellFormed(_key: string, value: unknown): unknown {
  if (typeof value === 'string' && !value.isWellFormed())
    throw malformed('holds a lone surrogate, which is not Unicode');
  return value;
}

/**
 * The JSON body of a request. Rejects with `unsupported_media_type`, `payload_too_large` (over 1 MB) or
 * `malformed_body`; no part of the body is in the error.
 */
export async function readJson(req: IncomingMessage): Promise<unknown> {
  if (!isJsonType(req.headers['content-type'] ?? '')) {
    throw new ServiceError(
      'unsupported_media_type',
      'Send the body as Content-Type: application/json, in UTF-8.',
    );
  }
  const encoding = req.headers['content-encoding'];
  if (encoding !== undefined && encoding !== 'identity') {
    throw new ServiceError('unsupported_media_type', 'Send the body without a Content-Encoding.');
  }
  const bytes = await collect(req);
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch {
    throw malformed('is not valid UTF-8');
  }
  try {
    return SURROGATE_ESCAPE.test(text) ? JSON.parse(text, requireWellFormed) : JSON.parse(text);
  } catch (error) {
    throw error instanceof ServiceError ? error : malformed('is not valid JSON');
  }
}
