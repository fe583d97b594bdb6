import { type Caller, eventIdOf } from '../../domain/events/newEvent.ts';
import { ServiceError } from '../../platform/errors.ts';
import { deterministicEventId } from '../idempotency/keys.ts';
import type { Page } from '../records/queries/paging.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { answerFinding, type GivenAnswer } from './answerCommands.ts';
import { readWorklist, type Worklist } from './worklist.ts';
import type { WorklistSelection } from './worklistFanOut.ts';

/** Encounters answered at once: each is evaluated from the log. */
const AT_ONCE = 8;

/** An answer to everything that a rule finds in one record. */
export interface CauseAnswer extends GivenAnswer {
  record: NonNullable<GivenAnswer['record']>;
}

/** The result of an answer to some encounters of a cause. */
export interface CauseAnswered extends Pick<Page<string>, 'next_page_token'>, Pick<Worklist, 'progress'> {
  /** Encounters for which it was recorded. */
  updated: number;
  /** Encounters for which the same was recorded before. */
  unchanged: number;
  /** Encounters of the worklist in which the rule no longer finds it, or that were erased. */
  gone: number;
}

/** What an encounter may become between the worklist and its answer. */
const goneCodes = ['conflict', 'not_found', 'gone'];

/**
 * Records an answer to what a rule finds in a record, for the next encounters of a selection, at most `limit` of them; each
 * by an event, as `answerFinding` does. What was recorded stays where a later one is refused: the same request
 * continues. Rejects as `readWorklist` and `answerFinding` do.
 */
export async function answerCause(
  ports: QueryPorts,
  caller: Caller,
  selection: WorklistSelection,
  given: CauseAnswer,
  page: { limit: number; pageToken: string | undefined },
): Promise<CauseAnswered> {
  const { rule, record } = given;
  const worklist = await readWorklist(ports, caller.workspace, { ...selection, rule }, page);
  const ids = worklist.items
    .filter(({ findings }) =>
      findings.some((one) => one.rule === rule && one.kind === record.kind && one.id === record.id),
    )
    .map(({ encounter_id: id }) => id);
  const counts = { updated: 0, unchanged: 0, gone: 0 };
  const answer = async (id: string) => {
    // Each event has its own id, the same in each try of the request; all have that of the request.
    const own = {
      ...caller,
      earlier: { eventId: deterministicEventId(eventIdOf(caller), id), appended: false },
    };
    counts[await outcomeOf(answerFinding(ports, own, id, given))] += 1;
    if (caller.earlier && own.earlier.appended) caller.earlier.appended = true;
  };
  for (let at = 0; at < ids.length; at += AT_ONCE) await Promise.all(ids.slice(at, at + AT_ONCE).map(answer));
  return { ...counts, next_page_token: worklist.next_page_token, progress: worklist.progress };
}

async function outcomeOf(
  written: ReturnType<typeof answerFinding>,
): Promise<'updated' | 'unchanged' | 'gone'> {
  try {
    return (await written).outcome;
  } catch (error) {
    if (error instanceof ServiceError && goneCodes.includes(error.code)) return 'gone';
    throw error;
  }
}
