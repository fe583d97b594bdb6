import { becameOf, becameOfOperation, eachOnce } from '../aboutRecords.ts';
import type { ProcessedMessage } from '../messages/MessageStore.ts';
import { MAX_PROBLEMS } from '../messages/message.ts';
import { isRefused } from './Interpreter.ts';
import type { EntryOutcome } from './sendMessage.ts';

/** Returns the result of a message from the results of its entries; `unread` others could not be read. */
export function processedBy(outcomes: readonly EntryOutcome[], unread: number): ProcessedMessage {
  const about = outcomes.flatMap(({ interpreted, result }) => {
    const { operation, identity } = interpreted;
    const { kind, recordId: id } = identity;
    if (operation) return becameOfOperation(operation, result);
    return kind === undefined || kind === 'document' || id === undefined
      ? []
      : [becameOf({ kind, id }, undefined)];
  });
  const patients = outcomes.flatMap((outcome) => {
    const result = isRefusedIn(outcome) ? undefined : ({ outcome: 'left_out' } as const);
    return outcome.interpreted.patients.map((id) => becameOf({ kind: 'patient', id }, result));
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
  };
}

function isRefusedIn({ interpreted, result }: EntryOutcome): boolean {
  return isRefused(interpreted) || (result !== undefined && 'error' in result);
}
