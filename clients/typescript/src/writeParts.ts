import type { WriteOptions } from './types.ts';

/** Where the options of a write go: into the query, the headers, or how the call is made. */
export function writeParts<Query>(options: WriteOptions & Query) {
  const { if_match, if_none_match, idempotency_key, signal, ...query } = options;
  return {
    query,
    headers: {
      ...(if_match !== undefined && { 'If-Match': if_match === '*' ? '*' : `"${if_match}"` }),
      ...(if_none_match !== undefined && { 'If-None-Match': if_none_match }),
    },
    call: { idempotency_key, signal },
  };
}
