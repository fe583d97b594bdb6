import { z } from 'zod';
import { documentFormats } from '../../domain/records/document.ts';
import { recordAccess } from '../../modules/audit/recordAccess.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import type { DocumentPorts } from '../../modules/records/commands/uploadDocument.ts';
import { readContentAt } from '../../modules/records/queries/documentHistory.ts';
import {
  type DocumentContent,
  readDocument,
  type WantedPart,
} from '../../modules/records/queries/readDocument.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { momentQuerySchema, requestedMoment } from '../schemas/parameters.ts';
import { callerOf } from '../server/exchange.ts';
import { requestedRange } from '../server/requestedRange.ts';
import {
  documentId,
  documentMember,
  documentParams,
  documentSubject,
  encounterId,
} from './documentAddress.ts';

const file = { schema: { type: 'string', format: 'binary' } } as const;
const files = Object.fromEntries(Object.values(documentFormats).map((type) => [type, file]));
const fileHeaders = [
  'ETag',
  'Content-Disposition',
  'Content-Length',
  'Accept-Ranges',
  'Repr-Digest',
] as const;

const rangeHeaders = z.object({
  Range: z
    .string()
    .optional()
    .meta({
      description: 'One part of the file, in bytes; multiple ranges are not supported',
      examples: ['bytes=0-1023'],
    }),
  'If-Range': z
    .string()
    .optional()
    .meta({
      description: 'The `ETag` of the parts received so far: if it has changed, the whole file is sent',
      examples: ['"1"'],
    }),
});

/** `GET /integration/encounters/{id}/documents/{documentId}`: the bytes, also those of another version or moment. */
export const downloadDocument = endpoint({
  method: 'get',
  path: documentMember,
  operationId: 'downloadDocument',
  summary: 'Download a document',
  description:
    'The latest file of the document, or an earlier one: the one given by `version`, or the one current ' +
    'at the time `as_of`, even if the document has been removed since. Replaced and removed files are ' +
    'kept for the retention period.',
  tag: 'Documents',
  permission: onKind('read', 'document'),
  params: documentParams,
  query: momentQuerySchema,
  headers: rangeHeaders,
  answers: {
    200: { description: 'The file.', headers: fileHeaders, stream: files },
    206: {
      description:
        'The part of the file requested by `Range`. Unlike the whole file, it is not compared with the ' +
        'digest.',
      headers: [...fileHeaders, 'Content-Range'],
      stream: files,
    },
  },
  errors: ['DocumentNotFound', 'Erased', 'RangeNotSatisfiable'],
  subject: documentSubject,
  handler:
    ({ eventLog, documentStore }: DocumentPorts) =>
    async (exchange) => {
      const caller = callerOf(exchange);
      const [encounter, id] = [encounterId(exchange.req), documentId(exchange.req)];
      const { workspace } = caller;
      const at = requestedMoment(exchange.req);
      const name = { workspace, encounterId: encounter, documentId: id };
      const part: WantedPart = ({ size }, version) => requestedRange(exchange, size, `"${version}"`);
      const found = at
        ? await readContentAt({ eventLog, documentStore }, name, at.moment, part)
        : await readDocument(eventLog, documentStore, workspace, encounter, id, part);
      const { range, content } = found;
      const query = { ...at?.query, ...(range && { bytes: `${range.start}-${range.end}` }) };
      const read = {
        kind: 'document',
        record_id: encounter,
        document_id: id,
        ...(Object.keys(query).length > 0 && { query }),
      } as const;
      try {
        await recordAccess(eventLog, caller, { action: 'document.download', ...read });
      } catch (error) {
        content.destroy();
        throw error;
      }
      return { status: range ? 206 : 200, headers: headersOf(found), body: { stream: content } };
    },
});

function headersOf({ document, version, range }: DocumentContent): Record<string, string> {
  const { format, filename, size, sha256 } = document;
  return {
    'Content-Type': documentFormats[format],
    'Content-Length': String(range ? range.end - range.start + 1 : size),
    ...(range && { 'Content-Range': `bytes ${range.start}-${range.end}/${size}` }),
    'Accept-Ranges': 'bytes',
    'Content-Disposition': `attachment; filename*=UTF-8''${encodeFilename(filename)}`,
    'Repr-Digest': `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`,
    ETag: `"${version}"`,
  };
}

/** Returns an RFC 8187 `ext-value`: what encodeURIComponent leaves alone beyond `attr-char` is encoded too. */
function encodeFilename(filename: string): string {
  return encodeURIComponent(filename).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  );
}
