import { z } from 'zod';
import type { Principal } from '../../domain/events/event.ts';
import type { ClaimPart } from '../../domain/events/readinessEvents.ts';
import { principalSchema } from '../jobs.ts';
import type { Billing, ReportedOutcome } from './billing.ts';
import { type CausedFinding, ReadinessReplay, type Step } from './replay.ts';
import { changedAfterBilling } from './rules/encounter.ts';
import { appliesAt } from './rules/index.ts';

const rejectionSchema = z.object({
  /** Where the code comes from: `277CA`, `835` or `other`. */
  source: z.string(),
  outcome: z.enum(['rejected', 'denied']),
  /** Category and status, or group and reason, as sent; '' for none. */
  code: z.string(),
  /** Kind of the record that the code is about, as far as it tells; otherwise `encounter`. */
  kind: z.string(),
  /** Who wrote the version of that record on which the claim was based. */
  principal: principalSchema,
  claims: z.int(),
  /** How many of these claims were sent when no rule found anything in a record of that kind. */
  uncaught: z.int(),
});
export type Rejection = z.infer<typeof rejectionSchema>;
export const rejectionsSchema = z.array(rejectionSchema);

/** The records that entities of a 277CA (STC01-3) are about. */
const partsOfEntities: Readonly<Record<string, ClaimPart>> = {
  ...{ '85': 'provider', '82': 'rendering_provider', '77': 'facility', PR: 'payer' },
  ...{ IL: 'patient', QC: 'patient' },
};

interface Code {
  code: string;
  part: ClaimPart;
}

function codesOf({ statuses = [], adjustments = [] }: ReportedOutcome): Code[] {
  const codes = [
    ...statuses.map(({ category, code, entity = '' }): Code => {
      return { code: `${category} ${code}`, part: partsOfEntities[entity] ?? 'encounter' };
    }),
    ...adjustments.map(({ group, code }): Code => ({ code: `${group} ${code}`, part: 'encounter' })),
  ];
  return codes.length === 0 ? [{ code: '', part: 'encounter' }] : codes;
}

/** Counts rejections and denials of the claims of encounters, by code and writer. */
export class RejectionCounts {
  readonly #rows = new Map<string, Rejection>();

  /** Counts those of one encounter, given the steps of its replay. */
  add(encounterId: string, steps: readonly Step[]): void {
    const own = ({ billing, id }: Step) => (id === encounterId ? billing : undefined);
    if (!steps.some((step) => isRefused(own(step)?.outcome))) return;
    const replay = new ReadinessReplay(encounterId);
    let found: readonly CausedFinding[] = [];
    let last: Billing | undefined;
    for (const [index, step] of steps.entries()) {
      const billing = own(step);
      const moment = Date.parse(step.event.recordedAt);
      if (billing && billing.at !== last?.at) {
        found = replay.findings.filter((one) => appliesAt(one, moment) && one.rule !== changedAfterBilling);
      }
      if (billing?.outcome && isRefused(billing.outcome) && billing.outcome !== last?.outcome) {
        this.#count(billing, billing.outcome, found, steps.slice(0, index + 1));
      }
      last = billing ?? last;
      replay.apply(step);
    }
  }

  /** Returns the rows, those first that were caught least. */
  rows(): Rejection[] {
    return [...this.#rows.values()].sort((a, b) => b.uncaught - a.uncaught || b.claims - a.claims);
  }

  #count(
    billing: Billing,
    outcome: ReportedOutcome,
    found: readonly CausedFinding[],
    steps: readonly Step[],
  ): void {
    const codes = new Map(codesOf(outcome).map((one) => [JSON.stringify(one), one]));
    for (const { code, part } of codes.values()) {
      const { kind, principal } = writerOf(billing, part, steps);
      const { source } = outcome;
      const key = JSON.stringify([source, outcome.outcome, code, kind, principal.type, principal.id]);
      const row = this.#rows.get(key) ?? {
        ...{ source, outcome: outcome.outcome as Rejection['outcome'], code, kind },
        ...{ principal: { type: principal.type, id: principal.id }, claims: 0, uncaught: 0 },
      };
      this.#rows.set(key, row);
      row.claims += 1;
      if (!found.some(({ record }) => record.kind === kind)) row.uncaught += 1;
    }
  }
}

function isRefused(outcome: ReportedOutcome | undefined): boolean {
  return outcome?.outcome === 'rejected' || outcome?.outcome === 'denied';
}

/** Returns who wrote a part of a claim; the encounter where the claim has no such part, and who billed where the writer is not known. */
function writerOf(
  billing: Billing,
  part: ClaimPart,
  steps: readonly Step[],
): { kind: string; principal: Principal } {
  const of = (wanted: ClaimPart) => billing.versions.find((one) => one.part === wanted);
  const used = of(part) ?? of('encounter');
  const written = steps.find(
    ({ kind, id, version }) => kind === used?.kind && id === used.id && version === used.version,
  );
  return {
    kind: used?.kind ?? 'encounter',
    principal: written?.event.metadata.principal ?? billing.principal,
  };
}
