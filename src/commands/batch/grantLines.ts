import { ServiceError } from '../../errors.ts';
import { type RateLimiter, secondsUntilReset } from '../../ports/rateLimiters.ts';

/** How many lines may be carried out, and what those beyond them are refused with. */
interface GrantedLines {
  count: number;
  refusal: unknown;
}

/** The refusal of lines beyond the limit of their workspace, and the seconds to wait. */
export function tooManyLines(seconds: number): ServiceError {
  return new ServiceError('rate_limited', `Too many lines in a minute. Try again in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  });
}

/** Counts so many lines of a workspace; without a limiter all are granted. */
export async function grantLines(
  limiter: RateLimiter | undefined,
  workspace: string,
  wanted: number,
): Promise<GrantedLines> {
  if (limiter === undefined || wanted === 0) return { count: wanted, refusal: undefined };
  try {
    const count = await limiter.consume(workspace, wanted);
    // Where refusals are no longer counted, all are beyond the limit.
    const beyond = count.refused ? Math.min(wanted, count.refusals || wanted) : 0;
    return { count: wanted - beyond, refusal: tooManyLines(secondsUntilReset(count)) };
  } catch (refusal) {
    return { count: 0, refusal };
  }
}
