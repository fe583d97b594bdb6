import { ServiceError } from '../../../platform/errors.ts';
import { type AboutRecord, eachOnce, recordOf } from '../aboutRecords.ts';
import { carryOut, type IngestPorts, type IngestRun, type OperationResult } from '../carryOut.ts';
import type { Operation } from '../operation.ts';
import type { Hl7Message } from './Hl7Message.ts';
import type { Hl7Issue } from './hl7Issue.ts';
import type { Hl7Source } from './hl7Source.ts';
import { mapMessage } from './mapMessage.ts';
import { isLater, issuesOf } from './resultIssues.ts';
import { subjectsOf } from './subjectsOf.ts';

/** The result of a message. */
export interface TakenMessage {
  /** How it is acknowledged. */
  code: 'AA' | 'AE' | 'AR';
  issues: Hl7Issue[];
  /** Whom and what it is about, whatever its result. */
  subjects: AboutRecord[];
  /** The operations derived from it. */
  operations: Operation[];
  /** The results of these operations. */
  results: OperationResult[];
}

/**
 * Carries out what a message says: all of it, durably, or nothing, where anything in it is wrong. Rejects where the
 * service cannot do so now, as with `unavailable`; the same message then completes what was begun. `keep` is called
 * with the records that it concerns, before anything is written.
 */
export async function takeMessage(
  ports: IngestPorts,
  run: IngestRun,
  source: Hl7Source,
  message: Hl7Message,
  keep: (about: AboutRecord[]) => Promise<void>,
): Promise<TakenMessage> {
  const said = mapMessage(message, source);
  const operations = 'refused' in said ? [] : said.operations;
  const subjects = subjectsOf(message, source);
  await keep(eachOnce([...subjects, ...operations.map(recordOf)]));
  if ('refused' in said) {
    return { code: said.refused, issues: said.issues, subjects, operations, results: [] };
  }
  const foreseen = await carriedOut(ports, { ...run, dryRun: true }, operations);
  const isRefused = foreseen.some((result) => 'error' in result);
  const results = isRefused ? foreseen : await carriedOut(ports, run, operations);
  const issues = operations.flatMap((operation, place) =>
    issuesOf(operation, results[place] as OperationResult),
  );
  const isWrong = issues.some(({ severity }) => severity === 'error');
  return { code: isWrong ? 'AE' : 'AA', issues: [...said.issues, ...issues], subjects, operations, results };
}

async function carriedOut(
  ports: IngestPorts,
  run: IngestRun,
  operations: readonly Operation[],
): Promise<OperationResult[]> {
  const results = await carryOut(ports, run, operations);
  for (const result of results) {
    if ('error' in result && (!(result.error instanceof ServiceError) || isLater(result.error)))
      throw result.error;
  }
  return results;
}
