import { ServiceError } from '../../../platform/errors.ts';
import { TimeSlicer } from '../../records/commands/batchOrder.ts';
import type { QueryPorts } from '../../records/queries/records.ts';
import {
  applyAtomically,
  applyOperations,
  eachOnce,
  type IngestRun,
  isOfErased,
  operationOutcome,
  resultOutcome,
} from '../apply.ts';
import { sourcedFields } from '../fields.ts';
import { fhirRules, IN_PASSING, ruleOf } from '../mapping.ts';
import { MAX_PROBLEMS } from '../messages/message.ts';
import type { ProcessedMessage } from '../messages/store.ts';
import {
  type AboutRecord,
  type Operation,
  type OperationResult,
  type Origin,
  type Origins,
  recordOf,
} from '../operations.ts';
import type { IngestPorts } from '../writes.ts';
import type { FhirEntry } from './bundle.ts';
import { type Interpreted, type InterpretedEntry, Interpreter, isRefused } from './interpreter.ts';
import { workspaceRecords } from './references.ts';
import { fieldPaths, type Issue, issuesOf, type MappingContext, placeIn } from './resources/issues.ts';

/**
 * Returns where the fields that a message sets come from. A field that the message does not mention has no origin:
 * the record already has it, and an upsert needs it.
 */
export function originsOf(
  { entries, operations }: Interpreted,
  context: MappingContext,
): Map<Operation, Origins> {
  const byOperation = Map.groupBy(entries, ({ operation }) => operation);
  return new Map(
    operations.map((operation) => {
      const tellers = byOperation.get(operation) ?? [];
      const values = sourcedFields(operation);
      return [
        operation,
        Object.fromEntries(
          values.flatMap(([field, value]) => {
            // What is mentioned in passing is in a single element.
            const origin =
              tellers.length === 0
                ? { at: operation.at, rule: IN_PASSING }
                : originOf(tellers, field, value, context);
            return origin === undefined ? [] : [[field, origin]];
          }),
        ),
      ];
    }),
  );
}

function originOf(
  tellers: readonly InterpretedEntry[],
  field: string,
  value: unknown,
  context: MappingContext,
): Origin | undefined {
  const [outer, inner] = field.split('.') as [string, string | undefined];
  for (const { entry, identity, rank, origins = {} } of tellers.toReversed()) {
    const { type = '' } = identity;
    const isInsurance = rank !== undefined;
    if (isInsurance !== (inner !== undefined) || (isInsurance && rank !== outer)) continue;
    const own = origins[inner ?? outer];
    const setting =
      own?.setting ??
      (outer === 'id' && isByIdSystem(identity, context, value) ? `id_systems.${type}` : undefined);
    const path =
      own?.at ??
      (setting?.startsWith('id_systems') ? `${type}.identifier` : fieldPaths[type]?.[inner ?? outer]);
    if (path === undefined) continue;
    const at = originExpression(entry, placeIn(entry.resource, path, value));
    const rule = ruleOf(fhirRules, type, inner ?? outer)?.name;
    return { at, ...(setting !== undefined && { setting }), ...(rule !== undefined && { rule }) };
  }
  return undefined;
}

function isByIdSystem(
  { type, identifiers }: InterpretedEntry['identity'],
  { idSystems }: MappingContext,
  value: unknown,
): boolean {
  const system = idSystems[type ?? ''];
  return system !== undefined && identifiers.some((one) => one.system === system && one.value === value);
}

/** Returns a place in a resource, expressed from the message downwards. */
function originExpression({ at, line }: FhirEntry, expression: string): string {
  if (line !== undefined) return `line ${line}: ${expression}`;
  return at === '' ? expression : expression.replace(/^[A-Za-z]+/, at);
}

/** Returns the result of a message from the results of its entries; `unread` others could not be read. */
export function processedBy(outcomes: readonly EntryOutcome[], unread: number): ProcessedMessage {
  const about = outcomes.flatMap(({ interpreted, result }) => {
    const { operation, identity } = interpreted;
    const { kind, recordId: id } = identity;
    if (operation) return operationOutcome(operation, result);
    return kind === undefined || kind === 'document' || id === undefined
      ? []
      : [resultOutcome({ kind, id }, undefined)];
  });
  const patients = outcomes.flatMap((outcome) => {
    const result = isRefusedIn(outcome) ? undefined : ({ outcome: 'left_out' } as const);
    return outcome.interpreted.patients.map((id) => resultOutcome({ kind: 'patient', id }, result));
  });
  const refused = outcomes.filter(isRefusedIn).length;
  const all = outcomes.length + unread;
  const problems = outcomes.flatMap(({ issues }) =>
    issues.map(({ severity, code, expression, diagnostics }) => ({
      severity,
      code,
      at: expression,
      text: diagnostics,
    })),
  );
  return {
    state: refused + unread === 0 ? 'accepted' : refused + unread === all ? 'rejected' : 'partly',
    about: eachOnce([...patients, ...about]),
    problems: problems.slice(0, MAX_PROBLEMS),
    isOfErased: outcomes.some(({ result }) => isOfErased(result)),
  };
}

function isRefusedIn({ interpreted, result }: EntryOutcome): boolean {
  return isRefused(interpreted) || (result !== undefined && 'error' in result);
}

/** The outcome of an entry of a message. */
export interface EntryOutcome {
  interpreted: InterpretedEntry;
  /** What is wrong or remarked on, with expressions relative to the message. */
  issues: Issue[];
  /** Of what was written for it; undefined where nothing was. */
  result: OperationResult | undefined;
}

/** A message to be carried out. */
interface FhirMessage {
  entries: readonly FhirEntry[];
  context: MappingContext;
  isAtomic: boolean;
  /** Called with the records that the message concerns, before anything is written. */
  save(about: AboutRecord[]): Promise<void>;
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
  { entries, context, isAtomic, save: keep }: FhirMessage,
): Promise<EntryOutcome[]> {
  const records = workspaceRecords(ports, run.caller.workspace);
  const interpreted = await new Interpreter(records, context).interpret(entries);
  const keeping = keep(recordsIn(interpreted));
  const outcomesOf = async (results?: ReadonlyMap<Operation, OperationResult>) => {
    const slices = new TimeSlicer();
    const outcomes: EntryOutcome[] = [];
    for (const one of interpreted.entries) {
      if (slices.isOver) await slices.next();
      outcomes.push(outcomeOf(one, results));
    }
    return outcomes;
  };
  const { operations } = interpreted;
  const resultOf = (results: OperationResult[]) =>
    new Map(operations.map((operation, index) => [operation, results[index] as OperationResult]));
  const isWrong = isAtomic && interpreted.entries.some(isRefused);
  if (!isAtomic || isWrong) await keeping;
  if (isWrong) throw new MessageRefused(await outcomesOf());
  if (!isAtomic) return outcomesOf(resultOf(await applyOperations(ports, run, operations)));
  const results = await applyAtomically(ports, run, operations, keeping);
  for (const result of results) requireStores(result);
  const outcomes = await outcomesOf(resultOf(results));
  if (results.some((result) => 'error' in result)) throw new MessageRefused(outcomes);
  return outcomes;
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
    issues: issues.map((issue) => ({ ...issue, expression: issueExpression(entry, issue) })),
  };
}

/** Returns the expression of an issue, relative to the message. */
function issueExpression({ at }: FhirEntry, { expression }: Issue): string {
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
