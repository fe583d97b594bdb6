import { measurements } from '../platform/metrics/metrics.ts';
import { isTracing, traced } from '../platform/tracing.ts';
import type { EventLog } from '../storage/eventLog.ts';
import type { Count, Limit, RateLimiter, RateLimiters } from '../storage/rateLimiters.ts';

/** Returns an event log whose appends are measured, and traced as spans if an SDK collects them. */
export function measuredAppends(eventLog: EventLog): EventLog {
  const duration = measurements.histogram('chartledger.append.duration', {});
  const waiting = measurements.gauge('chartledger.append.waiting', {});
  const measure = async <Result>(events: number, append: () => Promise<Result>): Promise<Result> => {
    const startedAt = performance.now();
    waiting.add(events);
    try {
      return await (isTracing() ? traced(workOf(events), append) : append());
    } finally {
      waiting.add(-events);
      duration.observe((performance.now() - startedAt) / 1_000);
    }
  };
  const measured: Pick<EventLog, 'append' | 'appendEach'> = {
    append: (...args) => measure(1, () => eventLog.append(...args)),
    appendEach: (appends) => measure(appends.length, () => eventLog.appendEach(appends)),
  };
  return new Proxy(eventLog, {
    get(target, name) {
      if (name === 'append' || name === 'appendEach') return measured[name];
      const own = Reflect.get(target, name);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

function workOf(events: number) {
  return { name: 'append', kind: 'CLIENT', attributes: { 'chartledger.events': events } } as const;
}

/** Returns limiters that count their refusals. */
export function measuredLimiters(limiters: RateLimiters): RateLimiters {
  return {
    limiter: (limit) => new MeasuredLimiter(limiters.limiter(limit)),
    close: () => limiters.close(),
  };
}

class MeasuredLimiter implements RateLimiter {
  readonly limit: Limit;
  readonly #limiter: RateLimiter;
  readonly #rejections;

  constructor(limiter: RateLimiter) {
    this.limit = limiter.limit;
    this.#limiter = limiter;
    this.#rejections = measurements.counter('chartledger.rate_limit.rejections', {
      'chartledger.limit': limiter.limit.name,
    });
  }

  consume(key: string, times?: number): Count | Promise<Count> {
    const count = this.#limiter.consume(key, times);
    if (count instanceof Promise) return count.then((counted) => this.#measure(counted));
    return this.#measure(count);
  }

  reset(key: string): Promise<void> {
    return this.#limiter.reset(key);
  }

  #measure(count: Count): Count {
    if (count.refused) this.#rejections.add();
    return count;
  }
}
