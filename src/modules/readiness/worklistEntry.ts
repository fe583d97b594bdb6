import { readinessModel } from '../../../projections/readinessModel.ts';
import type { ModelName, Row } from '../../storage/readModels.ts';
import type { Evaluation } from './evaluate.ts';
import { textOf } from './rules/faults.ts';
import { type Finding, type ReadinessState, readinessState, standsAt } from './rules/findings.ts';
import type { Severity } from './rules/rule.ts';

/** A finding in the worklist: where it is, without a text. */
export interface WorklistFinding {
  rule: string;
  severity: Severity;
  /** Of the record at fault. */
  kind: string;
  id: string;
  /** Dotted when nested. */
  field: string;
}

/** An encounter's state when it was evaluated, and what it is found by. */
export interface WorklistEntry {
  encounter_id: string;
  patient_id?: string | undefined;
  /** The other patients on whom it depends, because they and that one were merged. */
  merged_patient_ids?: string[];
  payer_id?: string | undefined;
  facility_id?: string | undefined;
  provider_id?: string | undefined;
  rendering_provider_id?: string | undefined;
  date_of_service?: string | undefined;
  state: ReadinessState;
  findings: WorklistFinding[];
  /** Whether it was billed: what it depends on is then compared with what was billed. */
  is_billed?: true;
  /** When the next finding begins or ends by itself, in milliseconds since 1970. */
  flips_at?: number;
}

/** The body for an encounter about which nothing is reported: it was erased, or cannot be read. */
type Nothing = Record<never, never>;

export const worklistModel = readinessModel as ModelName<WorklistEntry | Nothing>;

/** Returns what a row says about its encounter; undefined where that is nothing. */
export function entryOf(row: Row<WorklistEntry | Nothing> | undefined): WorklistEntry | undefined {
  return row !== undefined && 'state' in row.body ? row.body : undefined;
}

/** Returns an encounter's state at a moment, in milliseconds since 1970. */
export function worklistEntry(
  { facts, findings }: Pick<Evaluation, 'facts' | 'findings'>,
  now: number,
): WorklistEntry {
  const { encounter, patient, merged = [] } = facts;
  const named = textOf(encounter, 'patient_id');
  const others = [...merged.map(({ id }) => id), ...(patient ? [patient.id] : [])].filter(
    (id) => id !== named,
  );
  const standing = findings.filter((finding) => standsAt(finding, now));
  const flips = findings.flatMap(({ from = 0, until = 0 }) => [from, until]).filter((at) => at > now);
  return {
    encounter_id: encounter.id,
    patient_id: named,
    ...(others.length > 0 && { merged_patient_ids: others }),
    payer_id: textOf(patient, 'primary_insurance.payer_id'),
    facility_id: textOf(encounter, 'facility_id'),
    provider_id: textOf(encounter, 'provider_id'),
    rendering_provider_id: textOf(encounter, 'rendering_provider_id'),
    date_of_service: textOf(encounter, 'date_of_service'),
    state: readinessState(facts, standing),
    findings: standing.map(toWorklist),
    ...(facts.billed !== undefined && { is_billed: true }),
    ...(flips.length > 0 && { flips_at: Math.min(...flips) }),
  };
}

function toWorklist({ rule, severity, record, field }: Finding): WorklistFinding {
  return { rule: rule.code, severity, kind: record.kind, id: record.id, field };
}

/** Returns the codes of the rules that found something, without duplicates. */
export function codesOf({ findings }: WorklistEntry): string[] {
  return [...new Set(findings.map(({ rule }) => rule))];
}

/** Whether the rules that find something are exactly these, in any order. */
export function finds(entry: WorklistEntry, codes: readonly string[] | undefined): boolean {
  const own = codesOf(entry);
  return codes !== undefined && own.length === codes.length && own.every((code) => codes.includes(code));
}
