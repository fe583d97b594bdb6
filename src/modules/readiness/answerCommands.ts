import { isDeepStrictEqual } from 'node:util';
import type { JsonObject } from '../../domain/events/event.ts';
import type { Caller } from '../../domain/events/newEvent.ts';
import { type FindingAnswered, findingAnswers } from '../../domain/events/readinessEvents.ts';
import { validationError } from '../../domain/records/schema/validation.ts';
import { type FieldMessage, ServiceError } from '../../platform/errors.ts';
import { conditionNotMet } from '../records/commands/upsert.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { writeOnEncounter } from './encounterWrites.ts';
import type { CausedFinding } from './replay.ts';
import { answerKey, type FindingAnswers } from './rules/answers.ts';

/** An answer to what a rule finds in a record, for one encounter. */
export interface GivenAnswer {
  rule: string;
  /** The record at fault; may be left out where the rule finds something in one record only. */
  record?: { kind: string; id: string } | undefined;
  /** Of the record at fault, as reviewed; undefined: any version. */
  version?: number | undefined;
  answer: FindingAnswered['answer'];
  reason?: string | undefined;
  until?: string | undefined;
  assigned_to?: string | null | undefined;
  note?: string | undefined;
}

type Part = 'reason' | 'until' | 'assigned_to' | 'note';

/** What belongs to each answer. */
const partsOf: Record<FindingAnswered['answer'], readonly Part[]> = {
  accepted: ['reason', 'until'],
  assigned: ['assigned_to'],
  noted: ['note'],
  snoozed: ['until'],
  reopened: [],
};

/** Returns what an answer lacks, and what it has that belongs to others. */
export function problemsOf(given: Pick<GivenAnswer, 'answer' | Part>): FieldMessage[] {
  const { answer } = given;
  const all: readonly Part[] = ['reason', 'until', 'assigned_to', 'note'];
  return all.flatMap((field) => {
    const isPart = partsOf[answer].includes(field);
    if (isPart === (given[field] !== undefined)) return [];
    const others = findingAnswers.filter((one) => partsOf[one].includes(field));
    const message = isPart ? `is required when answer is ${answer}` : `belongs to ${others.join(' and ')}`;
    return [{ field, message }];
  });
}

/** The result of an answer. */
export interface AnswerWritten {
  /** Of the encounter. */
  version: number;
  outcome: 'updated' | 'unchanged';
}

/**
 * Records an answer to what a rule finds in a record, for one encounter; does nothing when that was the last one of its kind. Rejects as
 * `writeOnEncounter` does, with `validation_failed` where the record is to be named, or the last day has passed in the workspace, with `conflict` when the rule finds nothing there,
 * and with `version_conflict` when the record at fault has another version.
 */
export async function answerFinding(
  ports: QueryPorts,
  caller: Caller,
  encounterId: string,
  { rule, record, version, answer, ...given }: GivenAnswer,
): Promise<AnswerWritten> {
  const parts = Object.fromEntries(partsOf[answer].map((part) => [part, given[part] ?? null]));
  const { readiness, data } = await writeOnEncounter(ports, caller, {
    ...{ encounterId, eventType: 'FindingAnswered' },
    dataFor({ findings, today }, before) {
      if (given.until !== undefined && given.until < today)
        throw validationError([{ field: 'until', message: 'must not be in the past' }]);
      const finding = findingOf(findings, rule, record);
      const { kind, id, version: found } = finding.record;
      if (version !== undefined && version !== found) throw conditionNotMet('record', found);
      const known = before?.answers?.get(answerKey(rule, finding.record));
      if (isKnown(known, answer, { ...parts, version: found })) return undefined;
      return { rule, record: { kind, id, version: found }, answer, ...parts } as JsonObject;
    },
  });
  return { version: readiness.encounter.version, outcome: data === undefined ? 'unchanged' : 'updated' };
}

/** The error for an answer to what is not found. */
export function nothingToAnswer(): ServiceError {
  return new ServiceError('conflict', 'The rule finds nothing in the encounter, or not in this record.');
}

/** The error for an answer that leaves open which record it is about. */
export function severalRecords(): ServiceError {
  return new ServiceError(
    'validation_failed',
    'The rule finds something in several records: name one of them in record.',
    {
      details: [{ field: 'record', message: 'is required, as the rule finds something in several records' }],
    },
  );
}

function findingOf(
  findings: readonly CausedFinding[],
  code: string,
  record: GivenAnswer['record'],
): CausedFinding {
  const found = findings.filter(
    (finding) =>
      finding.rule.code === code &&
      (record === undefined || (finding.record.kind === record.kind && finding.record.id === record.id)),
  );
  const [first] = found;
  if (first === undefined) throw nothingToAnswer();
  const key = (finding: CausedFinding) => answerKey(code, finding.record);
  if (found.some((finding) => key(finding) !== key(first))) throw severalRecords();
  return first;
}

function isKnown(
  known: FindingAnswers | undefined,
  answer: FindingAnswered['answer'],
  {
    version,
    reason,
    until,
    assigned_to: to,
    note,
  }: Partial<Record<Part, string | null>> & { version: number },
): boolean {
  const { accepted, snoozed, assigned, noted } = known ?? {};
  const same: Record<FindingAnswered['answer'], boolean> = {
    accepted: isDeepStrictEqual(
      [accepted?.version, accepted?.reason, accepted?.until],
      [version, reason, until],
    ),
    snoozed: isDeepStrictEqual([snoozed?.version, snoozed?.until], [version, until]),
    assigned: (assigned?.to ?? null) === to,
    noted: isDeepStrictEqual([noted?.version, noted?.note], [version, note]),
    reopened: accepted === undefined && snoozed === undefined,
  };
  return same[answer];
}
