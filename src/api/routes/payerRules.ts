import { z } from 'zod';
import { catalogEntry } from '../../domain/records/catalog.ts';
import { exactObject, validate } from '../../domain/records/schema/validation.ts';
import {
  PAYER_RULE_ID,
  type PayerRule,
  payerRuleIdSchema,
  payerRuleSchema,
  payerRulesSchema,
} from '../../modules/readiness/rules/payerRuleData.ts';
import { type PayerRulesSet, readRuleSettings } from '../../modules/readiness/rules/rule.ts';
import { setPayerRules } from '../../modules/readiness/settings.ts';
import type { QueryPorts } from '../../modules/records/queries/records.ts';
import { notFound } from '../../platform/errors.ts';
import { endpoint } from '../schemas/endpoint.ts';
import { alwaysTrue, tagOf } from '../schemas/records.ts';
import { readJson } from '../server/body.ts';
import { withOptionalIdempotency } from '../server/idempotency.ts';
import { callerOf, type RequestContext } from '../server/requestContext.ts';
import type { RecordWritePorts } from './recordSchemas.ts';

const path = '/integration/readiness/payer-rules';
const common = { tag: tagOf(catalogEntry('encounter')), subject: () => ({ kind: 'payer' }) } as const;
const write = { ...common, permission: 'settings', takesIdempotencyKey: true } as const;
const member = { path: `${path}/{id}`, params: z.object({ id: payerRuleIdSchema }) } as const;

const listSchema = exactObject({ rules: payerRulesSchema }).meta({
  id: 'PayerRules',
  description: 'The rules of payers in a workspace.',
});

const example: PayerRule = {
  payer: { code: '60054' },
  field: 'patient.primary_insurance.policy_number',
  must: { pattern: 'W\\d{9}|W\\d{11}' },
  severity: 'blocks',
  text: 'Member IDs of this payer have a W and 9 or 11 digits.',
  codes: { status: ['164'], box: ['1a'] },
};
const list: z.infer<typeof listSchema> = { rules: { member_id: example } };

/** `GET /integration/readiness/payer-rules`. */
const listPayerRules = endpoint({
  ...common,
  method: 'get',
  path,
  operationId: 'listPayerRules',
  summary: 'List the rules of payers',
  description: 'What the workspace has set that payers demand of claims, besides the rules of the service.',
  permission: 'read',
  answers: { 200: { description: 'The rules.', schema: listSchema, example: list } },
  handler:
    ({ eventLog }: QueryPorts) =>
    async (context) => {
      const { payerRules = new Map() } = await readRuleSettings(eventLog, callerOf(context).workspace);
      return { body: { rules: Object.fromEntries(payerRules) } };
    },
});

const writtenSchema = z
  .object({
    success: alwaysTrue(),
    message: z.string(),
    outcome: z
      .enum(['updated', 'unchanged'])
      .meta({ description: '`unchanged`: they were so already; nothing was written' }),
  })
  .meta({ id: 'PayerRulesWritten', description: 'Rules of payers were set.' });

const answers = {
  200: {
    description: 'They are in force: encounters are evaluated again.',
    schema: writtenSchema,
    example: { success: true, message: 'Rules set', outcome: 'updated' },
  },
} as const;

/** Sets rules once for each `Idempotency-Key`. */
async function setOnce(
  ports: RecordWritePorts,
  context: RequestContext,
  input: unknown,
  rules: PayerRulesSet['rules'],
  isWhole: boolean,
) {
  const { outcome } = await withOptionalIdempotency(ports, context, input, async (caller) => ({
    outcome: await setPayerRules(ports.eventLog, caller, rules, { isWhole }),
  }));
  return { body: { success: true, message: 'Rules set', outcome } } as const;
}

/** Returns the id of a rule in a path. Throws `not_found`. */
function ruleId({ req }: RequestContext): string {
  const { id } = req.params;
  if (typeof id !== 'string' || !PAYER_RULE_ID.test(id)) throw notFound('Rule');
  return id;
}

/** `PUT /integration/readiness/payer-rules`. */
const setAllPayerRules = endpoint({
  ...write,
  method: 'put',
  path,
  operationId: 'setPayerRules',
  summary: 'Set all rules of payers',
  description:
    'Replaces the rules of payers of the workspace; one that is not in the body is removed. A rule holds for the payer of the ' +
    'primary insurance that it names, where all conditions in `when` are met. Its findings have the code `payer.` and the id of ' +
    'the rule. Everything is one event.',
  body: { required: true, content: { 'application/json': { schema: listSchema, example: list } } },
  answers,
  errors: ['InvalidPayerRule', 'BodyTooLarge', 'NotJson'],
  handler: (ports: RecordWritePorts) => async (context) => {
    const input = await readJson(context);
    return setOnce(ports, context, input, validate(listSchema, input).rules, true);
  },
});

/** `PUT /integration/readiness/payer-rules/{id}`. */
const setPayerRule = endpoint({
  ...write,
  ...member,
  method: 'put',
  operationId: 'setPayerRule',
  summary: 'Set a rule of a payer',
  description: 'Adds a rule, or replaces the one with this id.',
  body: { required: true, content: { 'application/json': { schema: payerRuleSchema, example } } },
  answers,
  errors: ['InvalidPayerRule', 'PayerRuleNotFound', 'BodyTooLarge', 'NotJson'],
  handler: (ports: RecordWritePorts) => async (context) => {
    const id = ruleId(context);
    const input = await readJson(context);
    return setOnce(ports, context, input, { [id]: validate(payerRuleSchema, input) }, false);
  },
});

/** `DELETE /integration/readiness/payer-rules/{id}`. */
const removePayerRule = endpoint({
  ...write,
  ...member,
  method: 'delete',
  operationId: 'removePayerRule',
  summary: 'Remove a rule of a payer',
  description: 'It no longer finds anything; as of an earlier time, it still does.',
  answers,
  errors: ['PayerRuleNotFound'],
  handler: (ports: RecordWritePorts) => async (context) =>
    setOnce(ports, context, undefined, { [ruleId(context)]: null }, false),
});

/** The endpoints of rules of payers. */
export const payerRuleEndpoints = [listPayerRules, setAllPayerRules, setPayerRule, removePayerRule];
