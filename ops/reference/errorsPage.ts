import { statusOf } from '../../src/api/server/answer.ts';
import { type ErrorCode, errorMeanings } from '../../src/platform/errors.ts';

import { code, page, table } from './markdown.ts';
import { openApi } from './openApi.ts';

/** Returns what the service says with an error code, from the examples in the OpenAPI document. */
function textsOf(errorCode: string): string {
  const examples = Object.values(openApi.components.responses).flatMap(({ content }) =>
    Object.values(content?.['application/json']?.examples ?? {}),
  );
  const texts = examples
    .filter(({ value }) => value.code === errorCode)
    .map(({ value }) => `“${value.error}”`);
  return [...new Set(texts)].join('<br>');
}

/** `docs/reference/errors.md` */
export function errorsPage(): string {
  const rows = Object.entries(statusOf).map(([errorCode, status]) => [
    String(status),
    code(errorCode),
    errorMeanings[errorCode as ErrorCode],
    textsOf(errorCode),
  ]);
  return page(
    'Errors',
    'The body of an error is `{error, code, requestId, details?}`: `error` is for people, `code` for programs. Quote ' +
      '`requestId`, which is also the header `Request-Id`, when you ask the operators. On 429 and 503, wait as many seconds ' +
      'as `Retry-After` says and send the same request again: that is always safe.',
    table(['status', 'code', 'meaning', 'for example'], rows),
  );
}
