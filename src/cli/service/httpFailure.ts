/** A wait for answers of 429 that do not say how long. */
const DEFAULT_PAUSE_SECONDS = 5;

/** A body that is JSON; undefined for any other. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The seconds that an answer of 429 asks to wait. */
export function retryAfterSeconds(told: number | string | null | undefined): number {
  const value = Number(told ?? Number.NaN);
  return value > 0 && Number.isFinite(value) ? value : DEFAULT_PAUSE_SECONDS;
}

/** Why `fetch` brought no answer, such as `ECONNREFUSED`. */
export function failureOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } };
  return name === 'TimeoutError' ? 'no answer in time' : (cause?.code ?? cause?.message ?? 'no connection');
}
