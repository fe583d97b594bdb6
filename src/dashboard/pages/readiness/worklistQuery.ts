import type { Request } from 'express';
import { z } from 'zod';
import { selectionOf, worklistFilterSchema, worklistOrderSchema } from '../../../api/routes/readiness.ts';
import { validate } from '../../../domain/records/schema/validation.ts';
import { rules } from '../../../modules/readiness/rules/index.ts';
import { payerRulesIn } from '../../../modules/readiness/rules/payerRules.ts';
import type { RuleSettings } from '../../../modules/readiness/rules/rule.ts';
import type { WorklistSelection } from '../../../modules/readiness/worklistFanOut.ts';
import { defectText } from '../../components/defects.ts';
import { filterForm, type InputField, input, messageOf, select } from '../../components/forms.ts';
import { type Html, html, type Refusal } from '../../components/page.ts';
import { filledQuery, textsOf } from '../../components/recordTable.ts';
import { worklistPath } from '../../components/urls.ts';
import { besidesIn, type MatrixGrouping, matrixGroupings } from './defectMatrix.ts';

/** The states by which the worklist can be limited; `any` is all of them. */
export const shownStates = [
  'blocked',
  'ready',
  'self_pay',
  'rejected',
  'not_completed',
  'voided',
  'any',
] as const;
export type ShownState = (typeof shownStates)[number];

/** The same for people. */
export const stateTexts: Record<ShownState, string> = {
  blocked: 'Blocked',
  ready: 'Ready',
  self_pay: 'Self-pay',
  rejected: 'Rejected',
  not_completed: 'Not completed',
  voided: 'Void',
  any: 'All',
};

/** People come for what is in the way; `any` shows all. */
const pageSchema = worklistFilterSchema.extend({
  ...worklistOrderSchema.shape,
  state: z.enum(shownStates).default('blocked'),
  by: z.enum(matrixGroupings).default('payer'),
  without: z.enum(matrixGroupings).optional(),
  besides: z.string().optional(),
  page_token: z.string().optional(),
});

/** The names of the page's parameters. */
export const worklistParameters: readonly string[] = Object.keys(pageSchema.shape);

/** What a page of the worklist is asked for. */
export interface WorklistQuery {
  selection: WorklistSelection;
  pageToken: string | undefined;
  /** The columns of the matrix. */
  by: MatrixGrouping;
  /** What limits the list, as in the address, without the page. */
  limits: Record<string, string>;
  /** The same as in the interface, for the audit trail. */
  asked: Record<string, unknown>;
}

/** Returns the query of a page. Throws `validation_failed`. */
export function worklistQuery(req: Request): WorklistQuery {
  const { page_token: pageToken, state: shown, by, ...limits } = validate(pageSchema, filledQuery(req));
  const state = shown === 'any' ? undefined : shown;
  const { without: kind, besides, ...filters } = limits;
  return {
    selection: {
      ...selectionOf({ ...filters, state }),
      ...(kind && { without: { kind, ...(besides !== undefined && { besides: besidesIn(besides) }) } }),
    },
    pageToken,
    by,
    limits: textsOf({ query: { state: shown, ...limits } }),
    asked: { state, ...limits },
  };
}

/** Returns what a refused query was sent with, for its form. */
export function sentLimits(req: Request): Record<string, string> {
  const { page_token: _token, ...sent } = textsOf({ query: filledQuery(req) });
  return sent;
}

/** Returns the form that limits the worklist; `sent` is what it was sent with. */
export function worklistForm(
  workspace: string,
  sent: Record<string, string>,
  known: ReadonlyMap<string, InputField['suggestions']>,
  {
    refusal,
    settings,
    users,
  }: { refusal?: Refusal; settings?: RuleSettings; users?: InputField['suggestions'] } = {},
): Html {
  const line = (
    name: string,
    label: string,
    type: 'search' | 'date',
    suggestions?: InputField['suggestions'],
  ) => input({ name, label, type, suggestions, value: sent[name], error: messageOf(refusal?.details, name) });
  const choice = (name: string, label: string, value: string, options: { value: string; text: string }[]) =>
    select({ name, label, value, options, error: messageOf(refusal?.details, name) });
  return filterForm({
    path: worklistPath(workspace),
    limits: { ...sent, state: undefined, by: undefined },
    refusal,
    isFolded: true,
    fields: html`${choice(
      'state',
      'State',
      sent.state ?? 'blocked',
      shownStates.map((value) => ({ value, text: stateTexts[value] })),
    )}
${choice('rule', 'Defect', sent.rule ?? '', [
  { value: '', text: 'Any' },
  ...[...rules, ...payerRulesIn(settings ?? {})]
    .map(({ code }) => ({ value: code, text: defectText(code, settings) }))
    .sort((a, b) => a.text.localeCompare(b.text)),
])}
${choice('billed', 'Billed', sent.billed ?? '', [
  { value: '', text: 'Any' },
  { value: 'false', text: 'Not billed' },
  { value: 'true', text: 'Billed' },
])}
${choice('answered', 'Answered', sent.answered ?? '', [
  { value: '', text: 'Any' },
  { value: 'false', text: 'With an unanswered defect' },
  { value: 'true', text: 'All answered' },
])}
${line('assigned_to', 'Assigned to', 'search', users)}
${choice('sort', 'Order', sent.sort ?? '', [
  { value: '', text: 'As created' },
  { value: 'filing', text: 'By filing deadline' },
])}
${line('payer_id', 'Payer', 'search', known.get('payer'))}
${line('facility_id', 'Facility', 'search', known.get('facility'))}
${line('provider_id', 'Billing provider', 'search', known.get('provider'))}
${line('from', 'Date of service, from', 'date')}
${line('to', 'Date of service, to', 'date')}
${line('filing_from', 'File by, from', 'date')}
${line('filing_to', 'File by, to', 'date')}`,
  });
}
