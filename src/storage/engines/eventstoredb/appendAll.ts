import { ServiceError } from '../../../platform/errors.ts';
import type { Append, Appended } from '../../eventLog.ts';

/** Number of concurrent appends: enough to keep a server busy, while leaving room for those of others. */
const AT_ONCE = 64;

/**
 * As `EventLog.appendEach`; `append` appends one, as `EventLog.append` does. The server processes the events of a stream one at a
 * time, so those of one stream wait for each other. Once the server is found to be unreachable, the rest are not tried.
 */
export async function appendAll(
  appends: readonly Append[],
  append: (one: Append) => Promise<Appended>,
): Promise<(Appended | ServiceError)[]> {
  const results: (Appended | ServiceError)[] = [];
  const latest = new Map<string, Promise<unknown>>();
  let away: ServiceError | undefined;
  let next = 0;
  const appendOne = async (one: Append) => {
    if (away) return away;
    try {
      return await append(one);
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      if (error.code === 'unavailable') away = error;
      return error;
    }
  };
  const work = async () => {
    while (next < appends.length) {
      const at = next++;
      const one = appends[at] as Append;
      const before = latest.get(one.stream);
      const appending = before ? before.then(() => appendOne(one)) : appendOne(one);
      latest.set(one.stream, appending);
      results[at] = await appending;
    }
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, appends.length) }, work));
  return results;
}
