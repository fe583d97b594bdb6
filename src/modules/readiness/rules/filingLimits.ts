import { z } from 'zod';

/** How long after the date of service payers take a claim: an ISO 8601 duration of days, months or years, such as `P90D` or `P1Y`. */
export type FilingLimit = string;

const DURATION = /^P([1-9]\d{0,3})([DMY])$/;

export const filingLimitSchema = z
  .string()
  .regex(DURATION, { error: 'must be a duration in days, months or years, such as P90D, P6M or P1Y' });

const units = { D: 'day', M: 'month', Y: 'year' } as const;

function partsOf(limit: FilingLimit): { count: number; unit: keyof typeof units } {
  const [, count, unit] = DURATION.exec(limit) ?? [];
  return { count: Number(count), unit: unit as keyof typeof units };
}

/** Returns a limit for people: `90 days`, `1 year`. */
export function limitText(limit: FilingLimit): string {
  const { count, unit } = partsOf(limit);
  return `${count} ${units[unit]}${count === 1 ? '' : 's'}`;
}

/** Returns a limit that people write: `90` or `90d` (days), `6m`, `1y`, `P1Y`; undefined for any other text. */
export function limitOfText(text: string): FilingLimit | undefined {
  const [, count, unit] = /^P?([1-9]\d{0,3})([dmy]?)$/i.exec(text) ?? [];
  return count === undefined ? undefined : `P${count}${unit?.toUpperCase() || 'D'}`;
}

const DAY_MS = 86_400_000;

/**
 * Returns the last day of a limit after a day such as `2026-03-14`. A month or year ends on the same day of a month, or
 * on the last one of a month that is shorter (Medicare Claims Processing Manual, chapter 1, section 70.1: of February 29 on February 28).
 */
export function lastDayOf(day: string, limit: FilingLimit): string {
  const { count, unit } = partsOf(limit);
  const begin = new Date(`${day}T00:00:00Z`);
  if (unit === 'D') return new Date(begin.getTime() + count * DAY_MS).toISOString().slice(0, 10);
  const months = unit === 'M' ? count : 12 * count;
  const end = new Date(begin);
  end.setUTCMonth(begin.getUTCMonth() + months, 1);
  const lastOfMonth = new Date(Date.UTC(end.getUTCFullYear(), end.getUTCMonth() + 1, 0)).getUTCDate();
  end.setUTCDate(Math.min(begin.getUTCDate(), lastOfMonth));
  return end.toISOString().slice(0, 10);
}

/** The types of payers whose limit the law sets. */
export const limitedTypes = ['medicare', 'tricare', 'medicaid'] as const;
export type LimitedType = (typeof limitedTypes)[number];

/** 42 CFR 424.44; 32 CFR 199.7(d); 42 CFR 447.45(d), within which a state may set a shorter one. */
export const legalLimits: Readonly<Record<LimitedType, FilingLimit>> = {
  medicare: 'P1Y',
  tricare: 'P1Y',
  medicaid: 'P12M',
};

/** Whether a limit is longer than the law's for a type of payer, at least from some days on. */
export function isLongerThanLaw(limit: FilingLimit, type: LimitedType): boolean {
  // A year with, and one without a leap day in it.
  return ['2027-03-14', '2026-03-14'].some(
    (day) => lastDayOf(day, limit) > lastDayOf(day, legalLimits[type]),
  );
}

/** The limits that a workspace has set. */
export interface FilingLimits {
  /** Of payers without a limit of their own, or of their type. */
  default?: FilingLimit;
  /** By the ids of the payers. */
  byPayer: ReadonlyMap<string, FilingLimit>;
  /** By types of payers, where it is below the law's. */
  byType: ReadonlyMap<string, FilingLimit>;
}

export const noLimits: FilingLimits = { byPayer: new Map(), byType: new Map() };

/** Data of `FilingLimitSet`: the limit of a payer, of a type of payers, or the default without either; `null` takes it away. */
export interface FilingLimitSet {
  limit: FilingLimit | null;
  payer_id?: string;
  payer_type?: LimitedType;
}

/** Returns the limit that is set for what such an event names; null for none. */
export function limitSetFor(
  limits: FilingLimits,
  { payer_id: id, payer_type: type }: Omit<FilingLimitSet, 'limit'>,
): FilingLimit | null {
  const set = id === undefined && type === undefined ? limits.default : undefined;
  return set ?? limits.byPayer.get(id ?? '') ?? limits.byType.get(type ?? '') ?? null;
}

/** The limits with what an event sets; those before stay as they are. */
export function withFilingLimit(limits: FilingLimits, { limit, ...of }: FilingLimitSet): FilingLimits {
  if (of.payer_id !== undefined) return { ...limits, byPayer: withEntry(limits.byPayer, of.payer_id, limit) };
  if (of.payer_type !== undefined)
    return { ...limits, byType: withEntry(limits.byType, of.payer_type, limit) };
  const { byPayer, byType } = limits;
  return { byPayer, byType, ...(limit !== null && { default: limit }) };
}

/** Returns a map with an entry; `null` takes it away. */
export function withEntry<Value>(
  before: ReadonlyMap<string, Value>,
  key: string,
  value: Value | null,
): ReadonlyMap<string, Value> {
  const after = new Map(before);
  if (value === null) after.delete(key);
  else after.set(key, value);
  return after;
}

/** Returns the limit of a payer by its id and its type in lower case; undefined where none is known. */
export function limitFor(limits: FilingLimits, id: string, type: string): FilingLimit | undefined {
  return (
    limits.byPayer.get(id) ??
    limits.byType.get(type) ??
    (legalLimits as Record<string, FilingLimit | undefined>)[type] ??
    limits.default
  );
}
