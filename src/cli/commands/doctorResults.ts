import { ConfigError } from '../../platform/config.ts';
import { describeError, ServiceError } from '../../platform/errors.ts';

/** The result of one check. */
export interface CheckResult {
  /** What was checked: `event_log`. */
  check: string;
  /** `warn`: worth attending to; `fail`: something does not work, or soon will not. */
  status: 'ok' | 'warn' | 'fail';
  /** Identifies the result, for programs; absent if it is ok. */
  code?: string;
  /** One line: what was found and, unless it is ok, what to do. Contains no PHI. */
  message: string;
}

export const ok = (check: string, message: string): CheckResult => ({ check, status: 'ok', message });

export const warn = (check: string, code: string, message: string): CheckResult => ({
  check,
  status: 'warn',
  code,
  message,
});

export const failed = (check: string, code: string, message: string): CheckResult => ({
  check,
  status: 'fail',
  code,
  message,
});

/** Returns the results of `look`; a check that cannot be made counts as a failure. */
export async function runCheck(check: string, look: () => Promise<CheckResult[]>): Promise<CheckResult[]> {
  try {
    return await look();
  } catch (error) {
    if (error instanceof ServiceError) return [failed(check, error.code, error.problem ?? error.message)];
    if (error instanceof ConfigError) return [failed(check, 'bad_setting', error.message)];
    const { code, syscall, path } = error as NodeJS.ErrnoException;
    if (syscall === undefined) {
      const { name, stack } = describeError(error) as { name: string; stack?: string[] };
      const where = stack?.[0] === undefined ? '' : ` ${stack[0]}`;
      return [failed(check, 'not_checked', `This could not be checked (${name}${where}). Report that.`)];
    }
    const advice = 'Run this as the user of the service, or give it the files (chown).';
    return [failed(check, 'not_readable', `${path ?? 'A file'} cannot be checked (${code}). ${advice}`)];
  }
}

/** Runs `work` on what was opened, and closes it whatever the outcome. */
export async function using<Store extends { close(): unknown }, Result>(
  opening: Promise<Store>,
  work: (store: Store) => Promise<Result>,
): Promise<Result> {
  const store = await opening;
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}
