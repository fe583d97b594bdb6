import type { RecordFields } from '../../../domain/records/catalog.ts';

/** The fields of a patient that hold insurances, in order. */
export const insuranceRanks = ['primary_insurance', 'secondary_insurance', 'tertiary_insurance'] as const;

/** An insurance that a message reports. */
export interface ToldInsurance {
  fields: Record<string, unknown>;
  isActive: boolean;
  /** Whether its period has not ended. */
  isInForce: boolean;
  order: number | undefined;
}

interface Ranked {
  fields: unknown;
  isInForce: boolean;
  order: number;
}

/**
 * Returns the insurances of a patient, by the fields to be written: those that the patient has, with those that a
 * message reports replacing the same ones (payer and policy number). An `order` only says which of two comes first
 * (FHIR R4, 13.1.5), so those in force take the ranks from the first on, without gaps; expired ones are kept only
 * where nothing is in force. `left`: how many found no rank.
 */
export function rankInsurances(
  patient: RecordFields | undefined,
  told: readonly ToldInsurance[],
): { fields: Record<string, unknown>; left: number } {
  const had = insuranceRanks.map((rank) => patient?.[rank]);
  const kept: Ranked[] = had.flatMap((fields, index) =>
    fields == null || told.some((one) => isSame(one.fields, fields))
      ? []
      : [{ fields, isInForce: true, order: index + 1 }],
  );
  const active = told.filter(({ isActive }) => isActive);
  const added = active.map(({ fields, isInForce, order }): Ranked => {
    const before = had.findIndex((one) => one != null && isSame(fields, one));
    return { fields, isInForce, order: order ?? (before < 0 ? Infinity : before + 1) };
  });
  const all = [...added, ...kept].toSorted((a, b) => a.order - b.order || 0);
  const inForce = all.filter((one) => one.isInForce);
  const ranked = inForce.length > 0 ? inForce : all.slice(-1);
  const fields = Object.fromEntries(
    insuranceRanks.flatMap((rank, index) => {
      const now = ranked[index]?.fields ?? null;
      return now === null && had[index] == null ? [] : [[rank, now]];
    }),
  );
  return { fields, left: Math.max(0, ranked.length - insuranceRanks.length) };
}

function isSame(one: Record<string, unknown>, other: unknown): boolean {
  const { payer_id, policy_number } = (other ?? {}) as Record<string, unknown>;
  return one.payer_id === payer_id && (one.policy_number ?? null) === (policy_number ?? null);
}
