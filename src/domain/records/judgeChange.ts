import type { RecordFields } from './catalog.ts';
import { changedFields } from './diff.ts';
import { mergeFields, type RecordState } from './fold.ts';

/** The possible effects of a write on a record. */
export const outcomes = ['created', 'updated', 'unchanged'] as const;
export type Outcome = (typeof outcomes)[number];

/** The effect of sent fields on a record. */
export interface Judgement {
  outcome: Outcome;
  /** Names of the fields whose value changes; those of an insurance are dotted. */
  changedFields: string[];
  /** The record's fields after the write, merged and without defaults. */
  fields: RecordFields;
}

const noFields = {} as RecordFields;

/**
 * Returns the effect of sent fields on a record, as `changed` of the event stream would report it; `state` is
 * undefined where there is no record.
 */
export function judgeChange(state: RecordState | undefined, sent: RecordFields): Judgement {
  const fields = mergeFields(state?.fields ?? noFields, sent);
  const changed = changedFields(state?.fields, fields);
  const updated = changed.length === 0 ? 'unchanged' : 'updated';
  return { outcome: state === undefined ? 'created' : updated, changedFields: changed, fields };
}
