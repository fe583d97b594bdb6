import type { FoundKey, KeyDirectory } from '../../modules/auth/KeyDirectory.ts';
import { onKind } from '../../modules/auth/permissions.ts';
import type { OperationResult } from '../../modules/integrations/carryOut.ts';
import type { FhirEntry } from '../../modules/integrations/fhir/FhirEntry.ts';
import { isRefused } from '../../modules/integrations/fhir/Interpreter.ts';
import { processedBy } from '../../modules/integrations/fhir/processedBy.ts';
import { contextOf } from '../../modules/integrations/fhir/resources/contextOf.ts';
import {
  type EntryOutcome,
  MessageRefused,
  sendMessage,
} from '../../modules/integrations/fhir/sendMessage.ts';
import { MessageKeeper, type RawMessage } from '../../modules/integrations/MessageKeeper.ts';
import type { MessageStore } from '../../modules/integrations/messages/MessageStore.ts';
import type { RememberedSources } from '../../modules/integrations/RememberedSources.ts';
import { sourceOf } from '../../modules/integrations/sourceOf.ts';
import type { LineResult } from '../../modules/records/commands/batchLine.ts';
import { WorkSlices } from '../../modules/records/commands/WorkSlices.ts';
import type { ServiceError } from '../../platform/errors.ts';
import type { DocumentStore } from '../../storage/documentStore.ts';
import { requirePermission } from '../server/admit.ts';
import { asServiceError } from '../server/errorAnswer.ts';
import { callerOf, type Exchange } from '../server/exchange.ts';
import { logFailure } from '../server/logFailure.ts';
import { BatchTally } from './BatchTally.ts';
import type { BatchPorts } from './carryOut.ts';
import { FHIR_JSON, FhirRefusal } from './fhirAnswer.ts';
import { recordBatch } from './recordBatch.ts';

export interface FhirPorts extends BatchPorts {
  documentStore: DocumentStore;
  sources: RememberedSources;
  directory: Pick<KeyDirectory, 'known'>;
  messages: MessageStore;
}

/** A message as a request brings it. */
export interface Message {
  entries: readonly FhirEntry[];
  /** Nothing of it is written if anything would be refused. */
  isAtomic: boolean;
  /** The endpoint's route, for the log and the audit trail. */
  route: string;
  /** The errors with which those of its entries are refused that could not be read. */
  unread?: readonly unknown[];
  /** As it arrived. */
  bytes: readonly Buffer[];
  /** What is requested with a resource that was sent by itself. */
  request?: RawMessage['request'];
}

/**
 * Carries out the message of a request, which `read` returns once it has arrived, as configured for the source of its
 * key; what leaves no event of its own is recorded in the audit trail. Rejects as `read` does, and with a
 * `FhirRefusal`, `overloaded`, `rate_limited` and `unavailable`. `isOne`: it is one resource, which does not count
 * among the batches under way.
 */
export async function carryMessage(
  ports: FhirPorts,
  exchange: Exchange,
  read: () => Message | Promise<Message>,
  { isOne = false } = {},
): Promise<EntryOutcome[]> {
  const { batches } = ports;
  const { entries, isAtomic, route, unread = [], bytes, request } = await read();
  const leave = isOne ? undefined : await batches.enter(exchange);
  try {
    const { workspace } = callerOf(exchange);
    const found = exchange.found as FoundKey;
    const source = sourceOf(await ports.sources.of(workspace), 'fhir', {
      keyId: found.key.id,
      known: ports.directory.known,
    });
    const raw = {
      format: 'fhir',
      media_type: exchange.req.headers['content-type'] ?? FHIR_JSON,
      ...{ bytes, ...(request && { request }) },
    } as const;
    const keeper = new MessageKeeper(ports.messages, callerOf(exchange), source, raw);
    const { caller } = keeper;
    const run = {
      ...{ caller, limiter: batches.lines, stopping: batches.stopping },
      authorize: (kind: string) => requirePermission(found, onKind('write', kind)),
    };
    const context = contextOf(source, Date.now());
    const keep = keeper.keep.bind(keeper);
    const outcomes = await sendMessage(ports, run, { entries, context, isAtomic, keep }).catch(
      async (error) => {
        if (error instanceof MessageRefused)
          await keeper.processed(processedBy(error.outcomes, unread.length));
        throw error;
      },
    );
    await keeper.processed(processedBy(outcomes, unread.length));
    const tally = new BatchTally(entries.length + unread.length);
    const slices = new WorkSlices();
    const failures = new Map<string, ServiceError>();
    for (const error of unread) tally.count({ kind: null, id: null, error });
    for (const outcome of outcomes) {
      if (slices.isOver) await slices.next();
      tallyOf(tally, outcome);
      if (!isFailed(outcome.result)) continue;
      const failure = asServiceError(outcome.result.error);
      failures.set(failure.code, failures.get(failure.code) ?? failure);
    }
    for (const failure of failures.values())
      logFailure(batches.logger, failure, { requestId: caller.requestId, route }, 'request');
    await recordBatch(ports, { caller, options: {}, route, ...(!isOne && { status: 200 }) }, tally);
    return outcomes;
  } catch (error) {
    throw error instanceof MessageRefused ? refusalOf(error) : error;
  } finally {
    leave?.();
  }
}

/** Returns the refusal of a message of which nothing was written: with the code of the first thing that is wrong. */
export function refusalOf({ outcomes }: MessageRefused): FhirRefusal {
  const failed = outcomes.flatMap(({ result }) =>
    isFailed(result) ? [asServiceError(result.error).code] : [],
  );
  const isUnread = outcomes.some(({ interpreted }) => isRefused(interpreted));
  const issues = outcomes.flatMap((outcome) => outcome.issues.filter(({ severity }) => severity === 'error'));
  return new FhirRefusal(isUnread ? 'validation_failed' : (failed[0] ?? 'validation_failed'), issues);
}

export function isFailed(result: OperationResult | undefined): result is { error: unknown } {
  return result !== undefined && 'error' in result;
}

function tallyOf(tally: BatchTally, { interpreted, result }: EntryOutcome): void {
  const nothing = { kind: null, id: null };
  if (isRefused(interpreted)) {
    tally.count({ ...nothing, error: new FhirRefusal('validation_failed', interpreted.issues) });
  } else if (isFailed(result)) tally.count({ ...nothing, error: result.error });
  else if (result && 'version' in result) {
    const written = { ...result, isSkipped: result.outcome === 'unchanged' };
    tally.count({ ...nothing, written } satisfies LineResult);
  }
}
