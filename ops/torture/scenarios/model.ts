import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { makeStores } from '../../bench/support/chartledger.ts';
import { askService } from '../model/askService.ts';
import { Model } from '../model/Model.ts';
import { RealService } from '../model/RealService.ts';
import { first, type Planned, planned } from '../model/requestsToMake.ts';
import type { Outcome, Scenario, Torture } from '../scenario.ts';

/** A request to the model and to the service. */
class Ask implements fc.AsyncCommand<Model, RealService> {
  readonly #plan: Planned;
  readonly #count: (op: string, status: number) => void;
  #label = 'not asked';

  constructor(plan: Planned, count: (op: string, status: number) => void) {
    this.#plan = plan;
    this.#count = count;
  }

  check(): boolean {
    return true;
  }

  async run(model: Model, service: RealService): Promise<void> {
    const request = this.#plan(model);
    const expected = model.answer(request);
    this.#label = JSON.stringify(request);
    const actual = await askService(service, request);
    this.#count(request.op, actual.status);
    if (!isDeepStrictEqual(actual, expected)) {
      const texts = [expected, actual].map((answer) => JSON.stringify(answer));
      throw new Error(`${this.#label} should be answered with ${texts[0]}, and was with ${texts[1]}`);
    }
  }

  toString(): string {
    return this.#label;
  }
}

/** Drives a model of the specification and the service with the same requests, and compares each answer. */
export const model: Scenario = {
  name: 'model',
  description:
    'A model of the specification and the service are asked the same, by chance: upserts, batches, uploads, removals, reads and histories, with conditions and idempotency keys, erasures, keys that come and go, restarts. Every answer must be the same.',
  async run(torture: Torture): Promise<Outcome> {
    const { short, seed, path, progress } = torture;
    const stores = await makeStores(torture, { RATE_LIMIT_PER_MINUTE: '0', PORT: '0' }, ['write', 'read']);
    const service = await RealService.open(stores);
    const counts = new Map<string, number>();
    const count = (op: string, status: number) => {
      const name = `${op}: ${status}`;
      counts.set(name, (counts.get(name) ?? 0) + 1);
    };
    const asks = planned.map((arbitrary) => arbitrary.map((plan) => new Ask(plan, count)));
    const runs = short ? 10 : 300;
    let begun = 0;
    const property = fc.asyncProperty(
      fc.commands(asks, { maxCommands: short ? 120 : 300, size: 'max' }),
      async (commands) => {
        begun += 1;
        if (begun % 50 === 0) progress(`run ${begun}`);
        await service.begin();
        const start = new Ask(() => first, count);
        await fc.asyncModelRun(() => ({ model: new Model(), real: service }), [start, ...commands]);
      },
    );
    try {
      const details = await fc.check(property, { seed, numRuns: runs, ...(path && { path }) });
      return {
        figures: [
          ['runs', details.numRuns],
          ['requests, each answered as the model says', [...counts.values()].reduce((sum, n) => sum + n, 0)],
          ...[...counts].sort().map(([name, number]): [string, number] => [name, number]),
        ],
        failures: details.failed ? [failureOf(details)] : [],
      };
    } finally {
      await service.close();
    }
  },
};

/** Returns what differed, the shortest sequence found that leads to it, and how to run it again. */
function failureOf({
  counterexample,
  counterexamplePath,
  errorInstance,
}: Pick<fc.RunDetails<unknown>, 'counterexample' | 'counterexamplePath' | 'errorInstance'>): string {
  const [run] = (counterexamplePath ?? '').split(':');
  return `${(errorInstance as Error)?.message}; after ${String(counterexample)}; again with --path ${run}`;
}
