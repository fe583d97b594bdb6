import { becameOf, becameOfOperation, eachOnce } from '../aboutRecords.ts';
import type { ProcessedMessage } from '../messages/MessageStore.ts';
import { MAX_PROBLEMS } from '../messages/message.ts';
import type { TakenMessage } from './takeMessage.ts';

/** Returns the result of an acknowledged message. */
export function becameOfMessage({
  code,
  issues,
  subjects,
  operations,
  results,
}: TakenMessage): ProcessedMessage {
  const isTaken = code === 'AA';
  const about = operations.flatMap((one, place) =>
    becameOfOperation(one, isTaken ? results[place] : undefined),
  );
  return {
    state: isTaken ? 'accepted' : 'rejected',
    about: eachOnce([...(isTaken ? [] : subjects.map((one) => becameOf(one, undefined))), ...about]),
    problems: issues.slice(0, MAX_PROBLEMS).map(({ severity, code: problem, location = '', text }) => ({
      severity,
      code: problem,
      at: location,
      text,
    })),
  };
}
