import { Argument, type Command } from 'commander';
import { v7 as uuidv7 } from 'uuid';
import type { z } from 'zod';
import { answerSchema } from '../../api/routes/readinessAnswers.ts';
import { type FindingAnswered, findingAnswers } from '../../domain/events/readinessEvents.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { answerFinding, problemsOf } from '../../modules/readiness/answerCommands.ts';
import { answerCause } from '../../modules/readiness/causeAnswers.ts';
import { withCurrentModels, withWorkspace } from '../../server/stores.ts';
import { CommandError, counted, example, printable, writeLine } from '../lib/terminal.ts';

interface AnswerOptions {
  workspace: string;
  record?: string;
  reason?: string;
  until?: string;
  to?: string;
  note?: string;
  all?: boolean;
}

/** `chartledger readiness answer` */
export function addAnswerCommand(readiness: Command): void {
  readiness
    .command('answer')
    .description(
      'Answer what a rule finds in encounters: accepted (it no longer blocks), snoozed, assigned, noted, or ' +
        'reopened (no longer accepted or snoozed). What is accepted or snoozed holds until the last day is over ' +
        'or the record at fault has another version.',
    )
    .argument('<rule>', 'the rule')
    .addArgument(new Argument('<answer>', 'the answer').choices(findingAnswers))
    .argument('[encounter...]', 'the ids of the encounters')
    .option('--all', 'every encounter in which the rule finds something in the record; with --record')
    .option('--record <kind/id>', 'the record at fault, if the rule finds something in several: facility/7')
    .option('--reason <text>', 'why it is accepted')
    .option('--until <day>', 'the last day for which it is accepted or snoozed: 2026-06-30')
    .option('--to <name>', 'to whom it is assigned; - for nobody')
    .option('--note <text>', 'the note')
    .requiredOption('--workspace <id>', 'the workspace')
    .addHelpText(
      'after',
      example(
        "chartledger readiness answer facility_tax_id accepted encounter-1 --reason 'Applied for' --until 2026-06-30 --workspace clinic",
        'chartledger readiness answer facility_tax_id assigned encounter-1 encounter-2 --to maria --workspace clinic',
        'chartledger readiness answer facility_tax_id snoozed --all --record facility/7 --until 2026-06-30 --workspace clinic',
      ),
    )
    .action(runAnswer);
}

async function runAnswer(
  rule: string,
  answer: FindingAnswered['answer'],
  encounters: string[],
  { workspace, record, to, all = false, ...texts }: AnswerOptions,
): Promise<void> {
  const given = validate(answerSchema, {
    ...{ rule, answer, ...texts, record: recordOf(record) },
    assigned_to: to === '-' ? null : to,
  });
  const problems = problemsOf(given);
  if (problems.length > 0) throw validationError(problems);
  if (all === encounters.length > 0) throw new CommandError('Name the encounters, or use --all.');
  if (all) return answerAll(workspace, given);
  await withWorkspace(workspace, ({ eventLog, caller }) =>
    withCurrentModels(eventLog, async (readModels) => {
      for (const id of encounters) {
        const own = { ...caller, requestId: uuidv7() };
        const { outcome } = await answerFinding({ eventLog, readModels }, own, id, given);
        const what = outcome === 'unchanged' ? 'unchanged' : answer;
        writeLine(`Rule ${rule} in encounter ${printable(id)}: ${what}.`);
      }
    }),
  );
}

/** Encounters of the worklist that are looked at together. */
const AT_ONCE = 500;

async function answerAll(
  workspace: string,
  { record, ...given }: z.infer<typeof answerSchema>,
): Promise<void> {
  if (record === undefined) throw new CommandError('--all requires --record, the record at fault.');
  const answer = { ...given, record };
  await withWorkspace(workspace, ({ eventLog, caller }) =>
    withCurrentModels(eventLog, async (readModels) => {
      const sums = { updated: 0, unchanged: 0, gone: 0 };
      for (let pageToken: string | null | undefined; pageToken !== null; ) {
        const page = { limit: AT_ONCE, pageToken };
        const part = await answerCause({ eventLog, readModels }, caller, {}, answer, page);
        if (!part.progress.isCurrent)
          throw new CommandError('The worklist is not up to date yet: run the command again once it is.');
        sums.updated += part.updated;
        sums.unchanged += part.unchanged;
        sums.gone += part.gone;
        pageToken = part.next_page_token;
      }
      const { updated, unchanged, gone } = sums;
      writeLine(
        `Rule ${given.rule}: ${given.answer} in ${counted(updated, 'encounter')}, ${unchanged} unchanged, ${gone} gone.`,
      );
    }),
  );
}

function recordOf(text: string | undefined): { kind: string; id: string } | undefined {
  if (text === undefined) return undefined;
  const slash = text.indexOf('/');
  const [kind, id] = [text.slice(0, slash), text.slice(slash + 1)];
  if (catalog.some((entry) => entry.kind === kind) && id !== '') return { kind, id };
  throw new CommandError('--record must be a kind and an id, such as facility/7.');
}
