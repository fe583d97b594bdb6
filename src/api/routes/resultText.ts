import type { LineResult } from '../../modules/records/commands/batchLine.ts';
import { asServiceError, isRetryable, statusOf } from '../server/errorAnswer.ts';

/** How a result is reported. */
interface ResultForm {
  /** It lacks `warnings`, `changed_fields` and `details`, and says so. */
  isShort: boolean;
  isDryRun: boolean;
}

/** Returns a line of the response: what the single request would have been answered. */
export function resultText(line: number, result: LineResult, form: ResultForm): string {
  return `${JSON.stringify(resultOf(line, result, form))}\n`;
}

function resultOf(line: number, result: LineResult, { isShort, isDryRun }: ResultForm): object {
  const { kind, id } = result;
  if ('written' in result) {
    const { version, outcome, warnings, changedFields = [] } = result.written;
    const told = { line, kind, id, status: 200, outcome, version, ...(isDryRun && { dry_run: true }) };
    const isLong = warnings.length > 0 || (isDryRun && changedFields.length > 0);
    if (isShort && isLong) return { ...told, shortened: true };
    return { ...told, warnings, ...(isDryRun && { changed_fields: changedFields }) };
  }
  const { code, message, details, version, retryAfterSeconds } = asServiceError(result.error);
  return {
    line,
    kind,
    id,
    status: statusOf[code],
    error: message,
    code,
    ...(details && (isShort ? { shortened: true } : { details })),
    ...(version !== undefined && { version }),
    retryable: isRetryable(code),
    ...(retryAfterSeconds !== undefined && { retryAfter: retryAfterSeconds }),
  };
}
