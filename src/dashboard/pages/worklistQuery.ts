import type { Request } from 'express';
import { z } from 'zod';
import { worklistFilterSchema } from '../../api/routes/readReadinessWorklist.ts';
import { validate } from '../../domain/records/schema/validate.ts';
import type { WorklistSelection } from '../../modules/readiness/walkWorklist.ts';
import { filledQuery, textsOf } from '../components/recordQuery.ts';
import { shownStates } from './stateTexts.ts';

/** People come for what is in the way; `any` shows all. */
const pageSchema = worklistFilterSchema.extend({
  state: z.enum(shownStates).default('blocked'),
  page_token: z.string().optional(),
});

/** The names of the page's parameters. */
export const worklistParameters: readonly string[] = Object.keys(pageSchema.shape);

/** What a page of the worklist is asked for. */
export interface WorklistQuery {
  selection: WorklistSelection;
  pageToken: string | undefined;
  /** What limits the list, as in the address, without the page. */
  limits: Record<string, string>;
  /** The same as in the interface, for the audit trail. */
  asked: Record<string, unknown>;
}

/** Returns the query of a page. Throws `validation_failed`. */
export function worklistQuery(req: Request): WorklistQuery {
  const { page_token: pageToken, state: shown, ...limits } = validate(pageSchema, filledQuery(req));
  const { payer_id: payer, facility_id: facility, provider_id: provider, ...same } = limits;
  const state = shown === 'any' ? undefined : shown;
  return {
    selection: { ...same, state, payer, facility, provider },
    pageToken,
    limits: textsOf({ query: { state: shown, ...limits } }),
    asked: { state, ...limits },
  };
}

/** Returns what a refused query was sent with, for its form. */
export function sentLimits(req: Request): Record<string, string> {
  const { page_token: _token, ...sent } = textsOf({ query: filledQuery(req) });
  return sent;
}
