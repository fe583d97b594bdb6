import { ServiceError } from '../../platform/errors.ts';
import type { Exchange } from '../server/exchange.ts';
import { isUtf8Type, parseBody, readBody } from '../server/readJson.ts';
import { FHIR_JSON } from './fhirAnswer.ts';

/** 16 MB: a patient's entire history, with documents of a few pages. */
export const MAX_FHIR_BYTES = 16 * 1024 * 1024;
/** Values of a Bundle: of 16 MB of resources without attachments. */
export const MAX_FHIR_VALUES = 500_000;

/** A body, as it arrived and as parsed. */
export interface FhirBody {
  value: unknown;
  bytes: Buffer;
}

/**
 * Resolves with the JSON body of a FHIR request. Rejects as `readBody` does, and with `unsupported_media_type` for
 * XML and other types.
 */
export async function readFhir(exchange: Exchange): Promise<FhirBody> {
  const type = exchange.req.headers['content-type'] ?? '';
  if (!isUtf8Type(type, FHIR_JSON) && !isUtf8Type(type, 'application/json')) {
    const text = `Send FHIR R4 in UTF-8 with Content-Type: ${FHIR_JSON}. XML is not supported.`;
    throw new ServiceError('unsupported_media_type', text);
  }
  const body = await readBody(exchange, MAX_FHIR_BYTES);
  return { value: parseBody(body, MAX_FHIR_VALUES), bytes: body.bytes };
}
