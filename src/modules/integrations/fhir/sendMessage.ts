import { ServiceError } from '../../../platform/errors.ts';
import { WorkSlices } from '../../records/commands/WorkSlices.ts';
import type { QueryPorts } from '../../records/queries/readRecord.ts';
import { type AboutRecord, eachOnce, recordOf } from '../aboutRecords.ts';
import { carryOut, type IngestPorts, type IngestRun, type OperationResult } from '../carryOut.ts';
import type { Operation } from '../operation.ts';
import type { FhirEntry } from './FhirEntry.ts';
import { type Interpreted, type InterpretedEntry, Interpreter, isRefused } from './Interpreter.ts';
import { type Issue, issuesOf } from './resources/issue.ts';
import type { MappingContext } from './resources/mapped.ts';
import { workspaceRecords } from './workspaceRecords.ts';

/** The outcome of an entry of a message. */
export interface EntryOutcome {
  interpreted: InterpretedEntry;
  /** What is wrong or remarked on, with expressions relative to the message. */
  issues: Issue[];
  /** Of what was written for it; undefined where nothing was. */
  result: OperationResult | undefined;
}

/** A message to be carried out. */
export interface FhirMessage {
  entries: readonly FhirEntry[];
  context: MappingContext;
  isAtomic: boolean;
  /** Called with the records that the message concerns, before anything is written. */
  keep(about: AboutRecord[]): Promise<void>;
}

/** A message is refused as a whole, because something in it is wrong. */
export class MessageRefused extends Error {
  readonly outcomes: EntryOutcome[];

  constructor(outcomes: EntryOutcome[]) {
    super('the message was refused');
    this.outcomes = outcomes;
  }
}

/**
 * Carries out what a message of resources says. `isAtomic`: where anything in it would be refused, nothing is
 * written, and it rejects with `MessageRefused`, as it does when another writer turns out to have intervened; a store
 * that is lost midway causes a rejection with `unavailable`. Sending the same message again then completes what was
 * begun. Otherwise each entry has an outcome of its own. Rejects with `unavailable` where nothing was begun.
 */
export async function sendMessage(
  ports: IngestPorts & QueryPorts,
  run: IngestRun,
  { entries, context, isAtomic, keep }: FhirMessage,
): Promise<EntryOutcome[]> {
  const records = workspaceRecords(ports, run.caller.workspace);
  const interpreted = await new Interpreter(records, context).interpret(entries);
  await keep(recordsIn(interpreted));
  const outcomesOf = async (results?: ReadonlyMap<Operation, OperationResult>) => {
    const slices = new WorkSlices();
    const outcomes: EntryOutcome[] = [];
    for (const one of interpreted.entries) {
      if (slices.isOver) await slices.next();
      outcomes.push(outcomeOf(one, results));
    }
    return outcomes;
  };
  const carry = async (dryRun: boolean) => {
    const { operations } = interpreted;
    // For a transaction, the trial counts; only that may be refused because of the limit.
    const limiter = isAtomic && !dryRun ? undefined : run.limiter;
    const results = await carryOut(
      ports,
      { ...run, limiter, dryRun: dryRun || run.dryRun === true },
      operations,
    );
    for (const result of results) if (isAtomic) requireStores(result);
    return new Map(operations.map((operation, index) => [operation, results[index] as OperationResult]));
  };
  const requireTaken = async (results: ReadonlyMap<Operation, OperationResult>) => {
    if ([...results.values()].some((result) => 'error' in result)) {
      throw new MessageRefused(await outcomesOf(results));
    }
  };
  if (!isAtomic) return outcomesOf(await carry(false));
  if (interpreted.entries.some(isRefused)) throw new MessageRefused(await outcomesOf());
  await requireTaken(await carry(true));
  const results = await carry(false);
  await requireTaken(results);
  return outcomesOf(results);
}

/** Throws errors that say a store cannot be reached, or that the service is overloaded. */
function requireStores(result: OperationResult): void {
  if ('error' in result && result.error instanceof ServiceError) {
    const { code } = result.error;
    if (code === 'unavailable' || code === 'rate_limited' || code === 'overloaded') throw result.error;
  } else if ('error' in result) throw result.error;
}

function outcomeOf(
  interpreted: InterpretedEntry,
  results: ReadonlyMap<Operation, OperationResult> | undefined,
): EntryOutcome {
  const { entry, identity, operation } = interpreted;
  const result = operation && results?.get(operation);
  const issues = [...interpreted.issues, ...issuesOf(identity.type ?? 'Resource', result)];
  return {
    interpreted,
    result,
    issues: issues.map((issue) => ({ ...issue, expression: within(entry, issue) })),
  };
}

/** Returns the expression of an issue, relative to the message. */
function within({ at }: FhirEntry, { expression }: Issue): string {
  return at === '' ? expression : expression.replace(/^[A-Za-z]+/, at);
}

/**
 * Returns the records that a message concerns: including those of refused entries, and patients who are only named; for
 * a document, its encounter.
 */
function recordsIn({ entries, operations }: Interpreted): AboutRecord[] {
  const named = entries.flatMap(({ identity: { kind, recordId } }) =>
    kind === undefined || kind === 'document' || recordId === undefined ? [] : [{ kind, id: recordId }],
  );
  const patients = entries.flatMap((one) => one.patients.map((id) => ({ kind: 'patient', id })));
  return eachOnce([...named, ...operations.map(recordOf), ...patients]);
}
