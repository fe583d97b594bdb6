import { models } from '../../../projections/index.ts';
import { unavailable } from '../../platform/errors.ts';
import type { EventLog } from '../../storage/eventLog.ts';
import type { ReadModels } from '../../storage/readModels.ts';
import { logMismatch } from './logMismatch.ts';

/** How long a read model is assumed to belong still to the log. */
const TRUSTED_MS = 1_000;

/** The methods that return rows, or count them. */
const READS = ['load', 'page', 'heads', 'countPage', 'changes', 'search', 'scan', 'count'] as const;

const projected: ReadonlySet<string> = new Set(models);

/** What was found out about a read model, and when, on the monotonic clock. */
interface Found {
  asked: Promise<void>;
  at: number;
}

/**
 * Returns the read models for a process that queries them. `onAwaited` is called when the position of a projection's
 * read model is queried: whoever asks is waiting for it to advance.
 *
 * They return nothing of a projection's read model that was not built from this log, or that the log no longer has:
 * that is `unavailable` until the projector has begun to rebuild it.
 */
export function ownReadModels(readModels: ReadModels, eventLog: EventLog, onAwaited: () => void): ReadModels {
  const found = new Map<string, Found>();
  const check = async (model: string, before: Promise<void> | undefined) => {
    const mismatch = await logMismatch({ eventLog, readModels }, model).catch((error) => {
      // While that cannot be determined, what was known stands.
      if (before === undefined) throw error;
      return before;
    });
    if (mismatch) throw unavailable('read model', new Error(mismatch));
  };
  const trusted = (model: string): Promise<void> | undefined => {
    if (!projected.has(model)) return undefined;
    const last = found.get(model);
    const now = performance.now();
    if (last && now - last.at < TRUSTED_MS) return last.asked;
    const asked = check(model, last?.asked);
    asked.catch(() => undefined);
    found.set(model, { asked, at: now });
    return asked;
  };
  return new Proxy(readModels, {
    get(target, name) {
      const own = Reflect.get(target, name);
      if (typeof own !== 'function') return own;
      if (name === 'checkpoint') {
        return (model: string) => {
          if (projected.has(model)) onAwaited();
          return own.call(target, model);
        };
      }
      if (!READS.some((read) => read === name)) return own.bind(target);
      return async (model: string, ...rest: unknown[]) => {
        await trusted(model);
        return own.call(target, model, ...rest);
      };
    },
  });
}
