/** The pause after 429 responses that do not say how long. */
const DEFAULT_PAUSE_SECONDS = 5;

/** Parses a JSON body; undefined for any other. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the seconds that a 429 response asks to wait. */
export function retryAfterSeconds(told: number | string | null | undefined): number {
  const value = Number(told ?? Number.NaN);
  return value > 0 && Number.isFinite(value) ? value : DEFAULT_PAUSE_SECONDS;
}

/** Returns why `fetch` got no response, such as `ECONNREFUSED`. */
export function failureOf(error: unknown): string {
  const { name, cause } = error as { name?: string; cause?: { code?: string; message?: string } };
  return name === 'TimeoutError' ? 'no answer in time' : (cause?.code ?? cause?.message ?? 'no connection');
}
