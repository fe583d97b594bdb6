import type { Caller } from '../../domain/events/newEvent.ts';
import type { BatchContext } from '../../modules/records/commands/batchContext.ts';
import type { BatchLine, LineResult } from '../../modules/records/commands/batchLine.ts';
import { runBatch } from '../../modules/records/commands/runBatch.ts';
import type { WritePorts } from '../../modules/records/commands/upsertRecord.ts';
import type { ServiceError } from '../../platform/errors.ts';
import { measurements } from '../../platform/metrics/Measurements.ts';
import { asServiceError, internalError } from '../server/errorAnswer.ts';
import { logFailure } from '../server/logFailure.ts';
import type { Batches } from './Batches.ts';
import { BatchTally } from './BatchTally.ts';
import type { BatchTry } from './batchTry.ts';
import type { OrderedResults } from './OrderedResults.ts';
import { recordBatch } from './recordBatch.ts';
import { resultText } from './resultText.ts';

export interface BatchPorts extends WritePorts {
  batches: Batches;
}

/** What is carried out of a batch, and for whom. */
export interface BatchOrder {
  lines: readonly BatchLine[];
  caller: Caller;
  options: BatchContext['options'];
  authorize: BatchContext['authorize'];
  /** The endpoint's route, for the log and the audit trail. */
  route: string;
  tries: BatchTry;
}

/** Carries out a batch, and reports the result of each line, and of all. Never rejects. */
export async function carryOut(ports: BatchPorts, order: BatchOrder, results: OrderedResults): Promise<void> {
  const { batches } = ports;
  const { lines, caller, options, authorize, route, tries } = order;
  const tally = new BatchTally(lines.length);
  const indexes = new Map(lines.map((line, index) => [line, index]));
  const failures = new Map<string, ServiceError>();
  const answer = (line: BatchLine, result: LineResult) => {
    const index = indexes.get(line);
    if (index === undefined) return;
    indexes.delete(line);
    tally.count(result);
    if ('error' in result) {
      const failure = asServiceError(result.error);
      failures.set(failure.code, failures.get(failure.code) ?? failure);
    }
    const isDryRun = options.dryRun === true;
    results.add(index, (isShort) => resultText(line.number, result, { isShort, isDryRun }));
  };
  try {
    const around = { limiter: batches.lines, stopping: batches.stopping };
    await runBatch(lines, { ports, caller, options, authorize, ...tries, answer, ...around });
  } catch (error) {
    const failed = { kind: null, id: null, error: internalError(error) };
    for (const line of [...indexes.keys()]) answer(line, failed);
  }
  for (const failure of failures.values())
    logFailure(batches.logger, failure, { requestId: caller.requestId, route }, 'request');
  measureLines(tally);
  await recordBatch(ports, { ...order, status: 200 }, tally);
  await tries.over();
  results.end(`${JSON.stringify({ summary: tally.summary })}\n`);
}

function measureLines({ summary }: BatchTally): void {
  for (const outcome of ['created', 'updated', 'unchanged', 'refused'] as const) {
    measurements.counter('chartledger.batch.lines', { 'chartledger.outcome': outcome }).add(summary[outcome]);
  }
}
