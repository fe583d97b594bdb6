import { ServiceError } from '../../errors.ts';
import { MAX_RETENTION_YEARS, MIN_RETENTION_YEARS } from '../../settingTypes.ts';

/** What somebody chose for a workspace: so many years, to keep everything, or what `RETENTION_YEARS` says. */
export type RetentionChoice = number | 'off' | 'default';

/** For how long records are kept. */
export interface RetentionPolicy {
  years: number;
  /** What nobody changed since, and what has no encounter dated since, is beyond the time: ISO 8601, UTC. */
  before: string;
}

/** Throws `validation_failed` for years that are too few or too many. */
export function requireRetention(choice: RetentionChoice): void {
  if (typeof choice === 'string') return;
  if (Number.isInteger(choice) && choice >= MIN_RETENTION_YEARS && choice <= MAX_RETENTION_YEARS) return;
  throw new ServiceError(
    'validation_failed',
    `Retention must be ${MIN_RETENTION_YEARS} to ${MAX_RETENTION_YEARS} years. HIPAA requires documentation to be kept for six years (45 CFR ` +
      '164.316); states require more for medical records.',
  );
}

/** What holds for a workspace at a moment (milliseconds since 1970); undefined: everything is kept. */
export function retentionPolicy(
  choice: RetentionChoice,
  setting: number | undefined,
  now: number,
): RetentionPolicy | undefined {
  const years = choice === 'default' ? setting : choice;
  if (years === undefined || years === 'off') return undefined;
  const before = new Date(now);
  before.setUTCFullYear(before.getUTCFullYear() - years);
  return { years, before: before.toISOString() };
}

/** What holds for a workspace, in words: `7 years`, `off`, `7 years by default`. */
export function retentionText(choice: RetentionChoice, setting: number | undefined): string {
  if (choice === 'default') return `${retentionText(setting ?? 'off', setting)} by default`;
  return choice === 'off' ? choice : `${choice} years`;
}
