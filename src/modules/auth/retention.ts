import { ServiceError } from '../../platform/errors.ts';
import { MAX_RETENTION_YEARS, MIN_RETENTION_YEARS } from '../../platform/settingTypes.ts';

/** The setting of a workspace: a number of years, to keep everything, or the value of `RETENTION_YEARS`. */
export type RetentionChoice = number | 'off' | 'default';

/** How long records are kept. */
export interface RetentionPolicy {
  years: number;
  /** A record has expired when it was not changed, and has no encounter dated, at or after this: ISO 8601, UTC. */
  before: string;
}

/** Throws `validation_failed` for too few or too many years. */
export function requireRetention(choice: RetentionChoice): void {
  if (typeof choice === 'string') return;
  if (Number.isInteger(choice) && choice >= MIN_RETENTION_YEARS && choice <= MAX_RETENTION_YEARS) return;
  throw new ServiceError(
    'validation_failed',
    `Retention must be ${MIN_RETENTION_YEARS} to ${MAX_RETENTION_YEARS} years. HIPAA requires documentation to be kept for six years (45 CFR ` +
      '164.316); states require more for medical records.',
  );
}

/** Returns the policy that applies to a workspace at a moment (milliseconds since 1970); undefined: everything is kept. */
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

/** Returns the policy that applies to a workspace, in words: `7 years`, `off`, `7 years by default`. */
export function retentionText(choice: RetentionChoice, setting: number | undefined): string {
  if (choice === 'default') return `${retentionText(setting ?? 'off', setting)} by default`;
  return choice === 'off' ? choice : `${choice} years`;
}
