import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import type { QueryPorts } from '../records/queries/readRecord.ts';
import { evaluate } from './evaluate.ts';
import type { RuleSettings } from './rules/ruleSettings.ts';
import { isWithin, type ServiceDays } from './serviceDays.ts';
import { codesOf, entryOf, type WorklistEntry, worklistEntry, worklistModel } from './worklistEntry.ts';
import { worklistPartition } from './worklistLists.ts';

/** Encounters evaluated at once. */
const AT_ONCE = 500;
const MOST_EXAMPLES = 5;

const counts = z.record(z.string(), z.int());

/** What a simulation has found so far. */
export const simulationSchema = z.object({
  /** Place, in the order of creation, of the last encounter looked at. */
  after: z.int(),
  encounters: z.int(),
  /** How many would be in another state, by both states: `ready blocked`. */
  flips: counts,
  /** The same by the payers of the primary insurances; '' where there is none. */
  byPayer: z.record(z.string(), counts),
  /**
   * By the codes of the rules: encounters in which each finds something that it did not find before, and the other
   * way round, with the ids of some.
   */
  byRule: z.record(z.string(), z.object({ found: z.int(), gone: z.int(), examples: z.array(z.string()) })),
});
export type Simulation = z.infer<typeof simulationSchema>;

export const noSimulation: Simulation = { after: -1, encounters: 0, flips: {}, byPayer: {}, byRule: {} };

/** Which encounters are looked at, and with which settings. */
export interface SimulationQuestion extends ServiceDays {
  workspace: string;
  present: RuleSettings;
  candidate: RuleSettings;
}

/**
 * Applies settings that are not in force to the worklist's encounters, as they are now, alongside those that are:
 * yields its findings after each step. It changes nothing; given earlier findings, it continues after them. Rejects
 * with `unavailable`.
 */
export async function* simulate(
  ports: QueryPorts,
  question: SimulationQuestion,
  before: Simulation = noSimulation,
): AsyncGenerator<Simulation> {
  const { workspace, present, candidate } = question;
  const result = structuredClone(before);
  const partition = worklistPartition(workspace);
  for (;;) {
    const rows = await ports.readModels.page(worklistModel, {
      partition,
      after: result.after,
      limit: AT_ONCE,
    });
    const entries = rows.flatMap((row) => entryOf(row) ?? []).filter((entry) => isWithin(entry, question));
    const ids = entries.map(({ encounter_id }) => encounter_id);
    const billed = new Set(
      entries.flatMap(({ is_billed, encounter_id }) => (is_billed ? [encounter_id] : [])),
    );
    const [now, then] = await Promise.all(
      [present, candidate].map((settings) =>
        evaluate(ports, workspace, ids, settings, (id) => billed.has(id)),
      ),
    );
    const at = Date.now();
    for (const [id, evaluation] of now ?? []) {
      const other = then?.get(id);
      if (other) compare(result, worklistEntry(evaluation, at), worklistEntry(other, at));
    }
    result.after = rows.at(-1)?.order ?? result.after;
    yield structuredClone(result);
    if (rows.length < AT_ONCE) return;
    await nextTurn();
  }
}

function compare(result: Simulation, now: WorklistEntry, then: WorklistEntry): void {
  result.encounters += 1;
  if (now.state !== then.state) {
    const flip = `${now.state} ${then.state}`;
    const { payer_id = '' } = now;
    // An id may be the name of something that every object has, such as `__proto__`.
    if (!Object.hasOwn(result.byPayer, payer_id)) result.byPayer = { ...result.byPayer, [payer_id]: {} };
    for (const sums of [result.flips, result.byPayer[payer_id] as Record<string, number>])
      sums[flip] = (sums[flip] ?? 0) + 1;
  }
  const [before, after] = [codesOf(now), codesOf(then)];
  const changes = [
    ...after.filter((code) => !before.includes(code)).map((code) => [code, 'found'] as const),
    ...before.filter((code) => !after.includes(code)).map((code) => [code, 'gone'] as const),
  ];
  for (const [code, what] of changes) {
    result.byRule[code] ??= { found: 0, gone: 0, examples: [] };
    const rule = result.byRule[code];
    rule[what] += 1;
    if (rule.examples.length < MOST_EXAMPLES) rule.examples.push(now.encounter_id);
  }
}
