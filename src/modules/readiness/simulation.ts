import { setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { readinessStates } from '../../domain/events/readinessEvents.ts';
import { documentFieldsSchema } from '../../domain/records/document.ts';
import { visitTypes } from '../../domain/records/kinds/encounter.ts';
import { exactObject } from '../../domain/records/schema/validation.ts';
import type { QueryPorts } from '../records/queries/records.ts';
import { totalOf } from './counts.ts';
import { evaluate } from './evaluate.ts';
import { filingLimitSchema, limitedTypes } from './rules/filingLimits.ts';
import { rules } from './rules/index.ts';
import { payerRuleChangesSchema } from './rules/payerRuleData.ts';
import {
  billingEntities,
  payerChoiceKey,
  type RuleSettings,
  readRuleSettings,
  ruleChoices,
} from './rules/rule.ts';
import { readCounts } from './worklistFanOut.ts';
import {
  billedAmong,
  codesOf,
  entryOf,
  isWithin,
  type ServiceDays,
  type WorklistEntry,
  worklistEntry,
  worklistModel,
  worklistPartition,
} from './worklistModel.ts';

/** Returns the schema of an object with some of these names, and no others. */
function someOf<Value extends z.ZodType>(values: readonly (readonly [name: string, value: Value])[]) {
  const shape = Object.fromEntries(values.map(([name, value]) => [name, value.optional()]));
  return exactObject(shape, 'name').optional();
}

/** A number is one of days. */
const limit = z.preprocess(
  (value) => (Number.isInteger(value) ? `P${value}D` : value),
  filingLimitSchema.nullable(),
);
const entity = z.enum(billingEntities).nullable();

/** Settings that are not in force: only what is to change; `null` and `default` remove a setting. */
export const candidateSettingsSchema = exactObject(
  {
    rules: someOf(rules.map((rule) => [rule.code, z.enum([...ruleChoices, 'default'])])),
    filing_limits: exactObject(
      {
        default: limit.optional(),
        payers: z.record(z.string(), limit).optional(),
        payer_types: someOf(limitedTypes.map((type) => [type, limit])),
      },
      'name',
    ).optional(),
    billing_entities: exactObject(
      { default: entity.optional(), facilities: z.record(z.string(), entity).optional() },
      'name',
    ).optional(),
    payer_choices: z
      .array(
        exactObject({
          rule: z.enum(rules.map(({ code }) => code)),
          choice: z.enum([...ruleChoices, 'default']),
          payer_id: z.string().optional(),
          payer_type: z.string().toLowerCase().optional(),
        }),
      )
      .optional(),
    payer_rules: payerRuleChangesSchema.optional(),
    required_documents: someOf(
      visitTypes.map((type) => [type, z.array(documentFieldsSchema.shape.category)]),
    ),
  },
  'name',
);
export type CandidateSettings = z.infer<typeof candidateSettingsSchema>;

/** Returns the settings that the rules would use: the present ones, changed. */
export function withCandidates(present: RuleSettings, candidates: CandidateSettings): RuleSettings {
  const { filingLimits, billingEntities } = present;
  const { filing_limits: limits = {}, billing_entities: entities = {} } = candidates;
  const { default: limit = filingLimits.default } = limits;
  const { default: entity = billingEntities.default } = entities;
  return {
    ...present,
    choices: changed(present.choices, candidates.rules, 'default'),
    filingLimits: {
      byPayer: changed(filingLimits.byPayer, limits.payers, null),
      byType: changed(filingLimits.byType, limits.payer_types, null),
      ...(typeof limit === 'string' && { default: limit }),
    },
    billingEntities: {
      byFacility: changed(billingEntities.byFacility, entities.facilities, null),
      ...(typeof entity === 'string' && { default: entity }),
    },
    payerChoices: changed(
      present.payerChoices ?? new Map(),
      Object.fromEntries(
        (candidates.payer_choices ?? []).map((one) => [
          payerChoiceKey(one.rule, one),
          one.choice === 'default' ? null : one,
        ]),
      ),
      null,
    ),
    payerRules: changed(present.payerRules ?? new Map(), candidates.payer_rules, null),
    requiredDocuments: changed(present.requiredDocuments, candidates.required_documents, undefined),
  };
}

/** Returns a map with other values; `gone` removes one. */
function changed<Value, Gone>(
  before: ReadonlyMap<string, Value>,
  changes: Partial<Record<string, Value | Gone>> | undefined,
  gone: Gone,
): ReadonlyMap<string, Value> {
  const after = new Map(before);
  for (const [key, value] of Object.entries(changes ?? {})) {
    if (value === gone || value === undefined) after.delete(key);
    else after.set(key, value as Value);
  }
  return after;
}

/** Encounters evaluated at once. */
const AT_ONCE = 500;
const MOST_EXAMPLES = 5;
/** Maximum number of encounters in another state that are named; `flips` counts all. */
export const MOST_CHANGED = 200;

const counts = z.record(z.string(), z.int());
const state = z.enum(readinessStates);

/** What a simulation has found so far. */
const simulationSchema = z.object({
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
  /** The first encounters that would be in another state; none in what an earlier version stored. */
  changed: z.array(z.object({ id: z.string(), from: state, to: state })).default([]),
});
export type Simulation = z.infer<typeof simulationSchema>;

export const noSimulation: Simulation = {
  after: -1,
  encounters: 0,
  flips: {},
  byPayer: {},
  byRule: {},
  changed: [],
};

/** Which encounters are looked at, and with which settings. */
interface SimulationQuestion extends ServiceDays {
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
    const [now, then] = await Promise.all(
      [present, candidate].map((settings) =>
        evaluate(ports, workspace, ids, settings, (some) => billedAmong(ports.readModels, workspace, some)),
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
    if (result.changed.length < MOST_CHANGED)
      result.changed.push({ id: now.encounter_id, from: now.state, to: then.state });
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

/** What to simulate. */
export interface SimulationRequest extends ServiceDays {
  workspace: string;
  candidates: CandidateSettings;
}

/** What a simulation has found, and the question that it answers. */
export const foundSchema = z.object({ question: z.string(), result: simulationSchema });
export type Found = z.infer<typeof foundSchema>;

/** A simulation compared with the settings in force. */
interface OpenSimulation {
  /** Distinguishes it from simulations of something else, or compared with other settings. */
  question: string;
  /** Approximately how many encounters are to be looked at. */
  total: number;
  /** As `simulate`; continues after what was found earlier, where that answers the same question. */
  results(earlier: Found | undefined): AsyncGenerator<Simulation>;
}

/** Rejects with `unreadable` and `unavailable`. */
export async function openSimulation(
  ports: QueryPorts,
  { workspace, candidates, from, to }: SimulationRequest,
): Promise<OpenSimulation> {
  const present = await readRuleSettings(ports.eventLog, workspace);
  const versions = [present.version, ...(present.codeSetVersions ?? [])];
  const question = JSON.stringify([workspace, candidates, versions, from, to]);
  const settings = { present, candidate: withCandidates(present, candidates) };
  const counts = await readCounts(ports.readModels, workspace, { from, to });
  return {
    question,
    total: counts ? totalOf(counts) : 0,
    results: (earlier) =>
      simulate(
        ports,
        { workspace, ...settings, from, to },
        earlier?.question === question ? earlier.result : noSimulation,
      ),
  };
}
