import { ServiceError } from '../../../platform/errors.ts';
import { type RateLimiter, secondsUntilReset } from '../../../storage/rateLimiters.ts';

/** How many lines may be carried out, and the error for those beyond. */
interface GrantedLines {
  count: number;
  refusal: unknown;
}

/** The error for lines beyond their workspace's limit, and the seconds to wait. */
export function tooManyLines(seconds: number): ServiceError {
  return new ServiceError('rate_limited', `Too many lines in a minute. Try again in ${seconds} seconds.`, {
    retryAfterSeconds: seconds,
  });
}

/** Counts a number of lines against a workspace's limit; without a limiter all are granted. */
export async function grantLines(
  limiter: RateLimiter | undefined,
  workspace: string,
  wanted: number,
): Promise<GrantedLines> {
  if (limiter === undefined || wanted === 0) return { count: wanted, refusal: undefined };
  try {
    const count = await limiter.consume(workspace, wanted);
    // Where refusals are no longer counted, all lines are beyond the limit.
    const beyond = count.refused ? Math.min(wanted, count.refusals || wanted) : 0;
    return { count: wanted - beyond, refusal: tooManyLines(secondsUntilReset(count)) };
  } catch (refusal) {
    return { count: 0, refusal };
  }
}
