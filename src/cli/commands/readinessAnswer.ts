import { Argument, type Command } from 'commander';
import { v7 as uuidv7 } from 'uuid';
import { answerSchema } from '../../api/routes/readinessAnswers.ts';
import { type FindingAnswered, findingAnswers } from '../../domain/events/readinessEvents.ts';
import { catalog } from '../../domain/records/catalog.ts';
import { validate, validationError } from '../../domain/records/schema/validation.ts';
import { answerFinding, problemsOf } from '../../modules/readiness/answerCommands.ts';
import { withCurrentModels, withWorkspace } from '../../server/stores.ts';
import { CommandError, example, printable, writeLine } from '../lib/terminal.ts';

interface AnswerOptions {
  workspace: string;
  record?: string;
  reason?: string;
  until?: string;
  to?: string;
  note?: string;
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
    .argument('<encounter...>', 'the ids of the encounters')
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
      ),
    )
    .action(runAnswer);
}

async function runAnswer(
  rule: string,
  answer: FindingAnswered['answer'],
  encounters: string[],
  { workspace, record, to, ...texts }: AnswerOptions,
): Promise<void> {
  const given = validate(answerSchema, {
    ...{ rule, answer, ...texts, record: recordOf(record) },
    assigned_to: to === '-' ? null : to,
  });
  const problems = problemsOf(given);
  if (problems.length > 0) throw validationError(problems);
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

function recordOf(text: string | undefined): { kind: string; id: string } | undefined {
  if (text === undefined) return undefined;
  const slash = text.indexOf('/');
  const [kind, id] = [text.slice(0, slash), text.slice(slash + 1)];
  if (catalog.some((entry) => entry.kind === kind) && id !== '') return { kind, id };
  throw new CommandError('--record must be a kind and an id, such as facility/7.');
}
